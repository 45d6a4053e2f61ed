import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { isFull } from '../../base/redis/unavailable.js';
import { perName, RECIPIENT_STATES } from '../../campaign/states/recipient.js';
import { orNull } from '../recipients/damaged.js';
import { recordProgress } from '../recipients/progress.js';
import { parseState, type StoredState } from '../store/campaigns.js';

/** Campaigns of a lane that are followed; those that are served first. */
const AT_MOST = 100;

/** A campaign of one recipient, and an outbox, have no course that a chart could show. */
const isFollowed = ({ total, outbox }: StoredState): boolean => total > 1 && outbox === undefined;

/**
 * Follows how the counts of campaigns change: of those that a lane serves, and of those that it has served, until they end. The sweep
 * records them, so no claim and no settlement does more.
 */
export function progressFollower({ redis, keys }: { readonly redis: Redis; readonly keys: Keys }) {
  const followed = new Map<LaneId, ReadonlySet<string>>();

  /** Returns when the lane is due for this again, ms; `Infinity` if it has no such campaign. `now`: ms by the clock of Redis. */
  const record = async (lane: LaneId, now: number): Promise<number> => {
    const served = await redis.zrange(keys.lane(lane, 'running'), '0', String(AT_MOST - 1));
    const ids = [...new Set([...served, ...(followed.get(lane) ?? [])])].slice(0, AT_MOST);
    followed.delete(lane);
    if (ids.length === 0) return Number.POSITIVE_INFINITY;
    const states = await redis.hmget(keys.lane(lane, 'states'), ...ids);
    const due = await Promise.all(
      states.map(async (json, at) => {
        const campaign = ids[at];
        if (json === null || campaign === undefined) return [];
        const state = await orNull(Promise.resolve().then(() => parseState(json, campaign)));
        if (state === null || !isFollowed(state)) return [];
        const hasEnded = state.endedAt > 0;
        const counts = perName(RECIPIENT_STATES, (name) => state.counts[name] ?? 0);
        const next = await recordProgress(redis, keys, { lane, campaign, hasEnded }, { at: now, counts });
        return hasEnded ? [] : [{ campaign, next }];
      }),
    );
    const open = due.flat();
    if (open.length > 0) followed.set(lane, new Set(open.map(({ campaign }) => campaign)));
    return Math.min(...open.map(({ next }) => next));
  };

  return {
    /** The same. On a full Redis, nothing is recorded. */
    record: (lane: LaneId, now: number): Promise<number> =>
      record(lane, now).catch((error: unknown) => {
        if (isFull(error)) return Number.POSITIVE_INFINITY;
        throw error;
      }),
  };
}
