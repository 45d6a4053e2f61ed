import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';

/** A loss of data that a process has noticed on a lane. */
export interface AnnouncedLoss {
  readonly lane: LaneId;
  /** Its unique name, which begins with its time. */
  readonly lossName: string;
}

/** A recovery barrier lasts a minute at most, and a lost worker has nothing to say later than that. */
const KEEP_MS = 90_000;

/*
 * The process whose script raises a lane's recovery barrier is the only one that this script tells of it. The connections of the
 * others need not break: a slot may move to another node, or a replica take over. So it announces the loss to all.
 */

/** Announces a loss of data on a lane. Safe to repeat. */
export async function announceLoss(redis: Redis, keys: Keys, lane: LaneId, lossName: string): Promise<void> {
  const at = Number.parseInt(lossName, 10);
  await redis.zadd(keys.losses, `${at}`, `${lossName} ${lane}`);
  await redis.zremrangebyscore(keys.losses, '-inf', `${at - KEEP_MS}`);
  await redis.pexpire(keys.losses, KEEP_MS);
}

/** The losses announced recently. */
export async function announcedLosses(redis: Redis, keys: Keys): Promise<AnnouncedLoss[]> {
  const members = await redis.zrangebyscore(keys.losses, '-inf', '+inf');
  return members.map((member) => {
    const [lossName = ''] = member.split(' ', 1);
    return { lossName, lane: member.slice(lossName.length + 1) };
  });
}
