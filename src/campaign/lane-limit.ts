/*
 * How many requests a lane may make, as its scripts decide it. Times are in ms.
 */

/** A known quota, and a deduction from it that fades over one window. */
interface LimitState {
  readonly quota: number;
  readonly deducted: number;
  readonly deductedAt: number;
}

/** The same, and who has permits: those that return, as in forecast.ts, and requests in flight. */
interface PermitState extends LimitState {
  readonly now: number;
  readonly returning: readonly number[];
  readonly inFlightSends: number;
  readonly inFlightPolls: number;
}

/** A quota that was learned; `certain`: what a window certainly admits. */
interface LearnedQuota {
  readonly quota: number;
  readonly certain: number;
  readonly isProven: boolean;
}

/** Requests per window that a lane with a known quota may make at a time, as in lane/learning.lua. */
export function limitOf({ quota, deducted, deductedAt }: LimitState, window: number, at: number): number {
  return Math.max(1, Math.floor(quota - deducted * Math.max(0, 1 - (at - deductedAt) / window)));
}

/** When a lane that has used its quota up gets its next permit, as its status says (lane/lane-status.lua); 0 if it has one. */
export function nextPermitAt(lane: PermitState, window: number): number {
  if (lane.quota === 0) return 0;
  const { returning, inFlightSends, inFlightPolls } = lane;
  let missing = inFlightSends + inFlightPolls + 1 - limitOf(lane, window, lane.now);
  for (let at = 0; at + 2 < returning.length; at += 3)
    missing += (returning[at + 1] ?? 0) + (returning[at + 2] ?? 0);
  if (missing <= 0) return 0;
  for (let at = 0; at + 2 < returning.length; at += 3) {
    missing -= (returning[at + 1] ?? 0) + (returning[at + 2] ?? 0);
    if (missing <= 0) return returning[at] ?? 0;
  }
  return 0;
}

/**
 * A learned quota is about the true one: it goes beyond it, by this part or one request, once in a window, and comes down again at the
 * next 429 (lane/learning.lua).
 */
const LEARNED_WITHIN = 0.01;

/** The most, or the least, that a learned quota may turn out to be; until it is proven, the least is what a window certainly admits. */
export function learnedWithin({ quota, certain, isProven }: LearnedQuota, isMost: boolean): number {
  const margin = Math.max(1, LEARNED_WITHIN * quota);
  if (isMost) return quota + margin;
  return Math.max(1, Math.min(quota - margin, isProven ? quota : certain));
}
