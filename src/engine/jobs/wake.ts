import type { LaneId } from '../../base/redis/keys.js';
import { type DueLanes, markDue } from './due.js';

/** The stages of a lane. Each has a queue, with one job for each lane that has work. */
export type Stage = 'send' | 'poll';

/** Wakes lanes. */
export interface Wakers {
  /** Schedules a turn of the lane in `inMs` ms, unless one is due sooner. If one runs, the lane is looked at again after it. */
  wake(stage: Stage, lane: LaneId, inMs: number): Promise<void>;
}

/** A lane that can say when its stages have work: ms by the clock of Redis, negative if they have none. */
interface Wakeable {
  readonly id: LaneId;
  status(): Promise<{ readonly now: number; readonly sendAt: number; readonly pollAt: number }>;
}

/**
 * Schedules the next turns of these stages of a lane that has work, for the time when the lane may do it. Returns that time, ms by the
 * clock of Redis; `Infinity` if it has none.
 */
export async function wakeLane(
  lane: Wakeable,
  wakers: Wakers,
  stages: readonly Stage[] = ['send', 'poll'],
): Promise<number> {
  const { now, sendAt, pollAt } = await lane.status();
  const at: Record<Stage, number> = { send: sendAt, poll: pollAt };
  const due = stages.filter((stage) => at[stage] >= 0);
  for (const stage of due) await wakers.wake(stage, lane.id, Math.max(0, at[stage] - now));
  return Math.min(Number.POSITIVE_INFINITY, ...due.map((stage) => Math.max(now, at[stage])));
}

/** For {@link activate}: schedules no turn. The next sweep of the lane, some two seconds later, does. */
export const bySweep = async (): Promise<void> => {};

/**
 * Gives a lane something to do, in the one order that loses nothing if this process dies or Redis is full:
 *
 *     mark the lane as due ──► change ──► mark it again, in case a sweep looked at it meanwhile
 *                                    └──► wake: schedule its turns
 *
 * `wake` gets the answer of the change. It returns null if the change gave the lane nothing to do; then the lane is not marked again.
 * Once the change is made, this resolves: if the turns cannot be scheduled, the sweep does it, because the lane is due.
 */
export async function activate<Answer>(
  lane: DueLanes & { readonly id: LaneId },
  change: () => Promise<Answer>,
  wake: (answer: Answer) => Promise<unknown> | null,
): Promise<Answer> {
  // Sent first, on one connection, so that it runs first.
  const marked = markDue(lane, [lane.id]);
  const [answer] = await Promise.all([change(), marked]);
  const woken = wake(answer);
  if (woken !== null) await activated(lane, woken);
  return answer;
}

/** The second half of {@link activate}, for a lane that was marked before and has changed by now. Never rejects. */
export async function activated(
  lane: DueLanes & { readonly id: LaneId },
  woken: Promise<unknown>,
): Promise<void> {
  await Promise.allSettled([markDue(lane, [lane.id]), woken]);
}
