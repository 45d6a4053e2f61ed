/**
 * Polls that a send request takes until all its recipients are final, where nothing better is known: most phones are
 * reached before the first poll, at 15 s by default; one in two requests is asked about once more.
 * A lane that has finished requests knows its own figure.
 */
export const USUAL_POLLS_PER_REQUEST = 1.5;

/** The same where notifications come: only what was lost of them is asked about, and a lane that loses one in ten is unlucky. */
export const NOTIFIED_POLLS_PER_REQUEST = 0.1;

/** What a lane may put on the wire, as far as an estimate needs to know. */
export interface EstimateQuota {
  /** Requests a window, sends and polls together; null while an `auto` lane has not learned it. */
  readonly limit: number | null;
  /** Milliseconds. */
  readonly windowMs: number;
  /** Requests already counted in the window that ends now, 0 to `limit`. */
  readonly used: number;
  /** Share of the limit held back for polls, 0 to 0.9; of it only what the polls need is taken. */
  readonly pollShare: number;
}

/** The requests of a campaign, or of what is left of it, and how long the quota makes them take. */
export interface Estimate {
  readonly requests: { readonly send: number; readonly poll: number; readonly total: number };
  /** Milliseconds until the last text has been sent, 0 if the quota has room for all now; null if it is not known. */
  readonly sentAfterMs: number | null;
  /** Milliseconds until the last poll has been made; null if it is not known. */
  readonly finishedAfterMs: number | null;
}

/**
 * Estimates by the quota alone: what the quota allows at once is taken to cost no time, and what it does not comes in
 * whole windows, as a lane that bursts sends it. Other campaigns of the lane, pauses and slow phones are left out.
 */
export function estimate(
  sends: number,
  quota: EstimateQuota,
  pollsPerRequest: number = USUAL_POLLS_PER_REQUEST,
): Estimate {
  return estimateRemaining(sends, Math.ceil(sends * pollsPerRequest), quota);
}

/** The same for `sends` and `polls` that are still to be made. */
export function estimateRemaining(sends: number, polls: number, quota: EstimateQuota): Estimate {
  const total = sends + polls;
  const requests = { send: sends, poll: polls, total };
  const { limit, windowMs, used, pollShare } = quota;
  if (limit === null) return { requests, sentAfterMs: null, finishedAfterMs: null };
  const free = Math.max(0, limit - used);
  const wantedByPolls = total === 0 ? 0 : polls / total;
  const shareOfSends = 1 - Math.min(pollShare, wantedByPolls);
  const sentAfterMs = windowMs * windows(sends, free * shareOfSends, limit * shareOfSends);
  return {
    requests,
    sentAfterMs,
    finishedAfterMs: Math.max(sentAfterMs, windowMs * windows(total, free, limit)),
  };
}

/** Whole windows to wait for the last of `count` requests: `now` may go at once, `each` with every window that ends. */
function windows(count: number, now: number, each: number): number {
  const atOnce = Math.floor(now);
  return count <= atOnce ? 0 : Math.ceil((count - atOnce) / Math.max(1, Math.floor(each)));
}
