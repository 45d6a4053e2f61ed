import { type Alarm, within } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { type RepeatingTask, repeating } from '../../base/repeating.js';
import { announcedLosses } from '../lane/announced-losses.js';
import type { RecentClaims } from '../sending/recent-claims.js';

/** A recovery barrier waits at least 5 s for a worker that has not replayed its claims. */
const LOOK_MS = 1_000;
/** A process does not end later because Redis cannot be reached. */
const STOP_WITHIN_MS = 3_000;

/** Replays the recent claims of each lane on which a loss of data was announced since. `recents`: by the lane's id. */
export async function replayAfterAnnouncements(
  redis: Redis,
  keys: Keys,
  recents: ReadonlyMap<LaneId, RecentClaims>,
): Promise<void> {
  for (const { lane, lossName } of await announcedLosses(redis, keys))
    recents.get(lane)?.replayOnce(lossName);
}

/**
 * Does so every second. `stop` does it once more and waits for the replays, so that no recovery barrier waits for a process that
 * ends.
 */
export function watchLosses(
  redis: Redis,
  keys: Keys,
  recents: ReadonlyMap<LaneId, RecentClaims>,
  alarm: Alarm,
): Pick<RepeatingTask, 'stop'> {
  const look = (): Promise<void> => replayAfterAnnouncements(redis, keys, recents).catch(() => {});
  const task = repeating(alarm, look, { everyMs: LOOK_MS });
  return {
    async stop() {
      const replay = async (): Promise<void> => {
        await task.stop();
        await look();
        await Promise.all([...recents.values()].map(({ replayed }) => replayed));
      };
      await within(STOP_WITHIN_MS, replay(), { alarm }).catch(() => {});
    },
  };
}
