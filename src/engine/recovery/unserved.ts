import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { returnDue } from '../jobs/due.js';

/*
 * Lanes that no process serves, such as one that has left the configuration. Nothing is sent on them, but the messages of their outboxes must
 * still lapse on time: otherwise, they would wait for ever, and people would believe that they are still to be sent. Any process can do that.
 * A process that serves the lane later makes it due at its start.
 */

/** A lane that is served is swept within two seconds of its time. */
const UNSERVED_AFTER_MS = 10_000;
/** The longest time until such a lane is looked at again, should it be served after all. */
const AGAIN_MS = 60_000;
/** Lanes that are looked at together. */
const LANES_AT_ONCE = 1_000;

/** What {@link lapseUnserved} needs. */
interface UnservedOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  /** Whether this process serves a lane. */
  serves(lane: LaneId): boolean;
  /** Lets messages of the lane's outboxes lapse. Returns when to do so again, ms by the clock of Redis; null if there is nothing to lapse. */
  lapse(lane: LaneId): Promise<number | null>;
}

/** Does what must be done for lanes that have been due for so long that no process serves them. */
export async function lapseUnserved({ redis, keys, serves, lapse }: UnservedOptions): Promise<void> {
  const now = await serverTime(redis);
  const entries = await redis.zrangebyscore(keys.due, '-inf', now, 'WITHSCORES', 'LIMIT', 0, LANES_AT_ONCE);
  for (let at = 0; at + 1 < entries.length; at += 2) {
    const [lane = '', since = 0] = [entries[at], Number(entries[at + 1])];
    if (serves(lane)) continue;
    const set = (due: number): Promise<void> =>
      returnDue({ redis, keys }, { until: since }, new Map([[lane, Math.ceil(due)]]));
    // It was made due at once, and has no time yet from which to count.
    if (since === 0) await set(now);
    else if (now - since > UNSERVED_AFTER_MS) {
      const next = await lapse(lane);
      if (next !== null) await set(Math.min(Math.max(next, now), now + AGAIN_MS));
    }
  }
}
