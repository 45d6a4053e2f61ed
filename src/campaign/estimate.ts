/**
 * Polls per send request until all its recipients are final, if the lane has no figure of its own yet: most phones are
 * reached before the first poll, 15 s after sending by default; every second request is polled once more.
 */
export const USUAL_POLLS_PER_REQUEST = 1.5;

/** The same on a lane that receives notifications: only requests whose notifications were lost are polled, at most one in ten. */
export const NOTIFIED_POLLS_PER_REQUEST = 0.1;

/** What a lane may put on the wire, as far as an estimate needs it. */
interface EstimateQuota {
  /** Requests per window, sends and polls together; null while an `auto` lane has not learned it. */
  readonly limit: number | null;
  /** Milliseconds. */
  readonly windowMs: number;
  /** Requests already counted in the window that ends now, 0 to `limit`. */
  readonly used: number;
  /** Share of the limit reserved for polls, 0 to 0.9; polls use no more of it than they need. */
  readonly pollShare: number;
}

/** The requests of a campaign, or of the rest of one, and how long they take under the quota. */
interface Estimate {
  readonly requests: { readonly send: number; readonly poll: number; readonly total: number };
  /** Milliseconds until the last message is sent; 0 if the quota has room for all now, null if the quota is not known. */
  readonly sentAfterMs: number | null;
  /** Milliseconds until the last poll; null if the quota is not known. */
  readonly finishedAfterMs: number | null;
}

/**
 * The send requests of a campaign. Recipients of a shared message are batched, up to `maxPerRequest` of them in a request;
 * a personalised message takes one request per recipient.
 */
export function requestsNeeded(recipients: number, sharedMessage: boolean, maxPerRequest: number): number {
  return sharedMessage ? Math.ceil(recipients / maxPerRequest) : recipients;
}

/**
 * Estimates by the quota alone: requests that the quota allows now take no time, and the rest goes out in whole windows, as a
 * lane sends in bursts. It leaves out other campaigns of the lane, pauses, and phones that are off.
 */
export function estimate(sends: number, polls: number, quota: EstimateQuota): Estimate {
  const total = sends + polls;
  const requests = { send: sends, poll: polls, total };
  const { limit, windowMs, used, pollShare } = quota;
  if (limit === null) return { requests, sentAfterMs: null, finishedAfterMs: null };
  const free = Math.max(0, limit - used);
  const neededByPolls = total === 0 ? 0 : polls / total;
  const sendShare = 1 - Math.min(pollShare, neededByPolls);
  const sentAfterMs = windowMs * windowsToWait(sends, free * sendShare, limit * sendShare);
  return {
    requests,
    sentAfterMs,
    finishedAfterMs: Math.max(sentAfterMs, windowMs * windowsToWait(total, free, limit)),
  };
}

/** Whole windows until the last of `count` requests, if `now` of them may go at once and `perWindow` in each window after. */
function windowsToWait(count: number, now: number, perWindow: number): number {
  const atOnce = Math.floor(now);
  return count <= atOnce ? 0 : Math.ceil((count - atOnce) / Math.max(1, Math.floor(perWindow)));
}
