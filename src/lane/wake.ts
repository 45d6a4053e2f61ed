import type { Lane } from './lane.js';
import type { Wakers } from './queues.js';

/** Schedules the next turns of a lane that has work, for the time when the lane may do it. */
export async function wakeLane(lane: Lane, wakers: Wakers): Promise<void> {
  const { now, sendAt, pollAt } = await lane.status();
  if (sendAt >= 0) await wakers.wake('send', lane.name, Math.max(0, sendAt - now));
  if (pollAt >= 0) await wakers.wake('poll', lane.name, Math.max(0, pollAt - now));
}
