import type { LaneOutlook } from './lane-outlook.js';

/** The rules of a lane that decide when it polls. Durations are in ms. */
export interface PollRules {
  readonly window: number;
  readonly pollShare: number;
  readonly firstPoll: number;
  readonly deadline: number;
}

/** On a lane with notifications, the part of the requests that is polled, at most: those whose notifications are lost. */
const POLLED_DESPITE_NOTIFICATIONS = 0.1;
/** The part of the polls that is followed by another, at most: a lane moves its first polls to where four in five requests are final. */
const REPEATED = 0.2;
/** So many groups of requests are due in turn until the last one is. */
const PARTS = 4;

/** The requests that will be polled for the first time, by when they are due. Time only goes forward. */
export function pollQueue(
  lane: LaneOutlook,
  { window, pollShare, deadline, firstPoll }: PollRules,
  isLate: boolean,
) {
  const entries: { readonly at: number; count: number }[] = [];
  let [head, seen, total, due] = [0, 0, 0, 0];
  const put = (at: number, count: number): void => {
    if (count <= 0) return;
    entries.push({ at, count });
    total += count;
  };
  const polled = lane.isHeard ? (isLate ? POLLED_DESPITE_NOTIFICATIONS : 0) : 1;
  put(Math.min(lane.now, lane.oldestDue), lane.overdue);
  if (isLate) put(lane.now, lane.repolled);
  // Those that are not due yet are due between the oldest of them and one that was sent just now.
  const toCome = (lane.unpolled - lane.overdue) * polled;
  const oldest = Math.max(lane.now, lane.oldestDue);
  for (let part = 1; part <= PARTS; part += 1)
    put(isLate ? oldest : oldest + ((lane.now + lane.firstPoll - oldest) * part) / PARTS, toCome / PARTS);
  const queue = {
    /** `count` requests are answered. */
    add: (at: number, count: number): void => put(at + lane.firstPoll, count * polled),
    /** How many are due by then. */
    dueBy(until: number): number {
      for (let entry = entries[seen]; entry !== undefined && entry.at <= until; entry = entries[seen]) {
        due += entry.count;
        seen += 1;
      }
      return due;
    },
    /** Polls at most so many of those that are due by then; some of them are polled again. */
    take(count: number, until: number): void {
      let left = Math.min(count * (isLate ? 1 - REPEATED : 1), queue.dueBy(until));
      [total, due] = [total - left, due - left];
      for (let first = entries[head]; first !== undefined && left > 0; first = entries[head]) {
        const part = Math.min(left, first.count);
        first.count -= part;
        left -= part;
        if (first.count <= 0) head += 1;
      }
    },
    /** How many permits of a window polls get, as in quota/permits.lua: more if they would miss their deadline. One permit changes hands. */
    shareOf(quota: number, at: number): number {
      const left = Math.max(window, (entries[head]?.at ?? at) + deadline - firstPoll - at);
      const late = ((total * window) / left) * (isLate ? 1.15 : 0.85);
      const share = Math.max(pollShare * quota, Math.min(late, quota / 2));
      return quota > 1 ? Math.min(quota - 1, Math.ceil(share)) : share > 0 ? 0.5 : 0;
    },
  };
  return queue;
}
