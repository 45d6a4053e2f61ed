import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { InputError, NotFoundError } from '../../campaign/errors/errors.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import { listCampaigns, readState } from '../../engine/store/campaigns.js';

interface CampaignsOfKey {
  readonly redis: Redis;
  readonly keys: Keys;
  cancel(id: string): Promise<{ readonly cancelled: number }>;
  /** Pauses the schedules that an API key has added. The result says whether the one with an id on a lane is among them. */
  pauseSchedules(key: string): Promise<(id: string, lane: LaneId) => boolean>;
  /** Discards an import, so that it cannot be committed any more. False: it was committed meanwhile. */
  discardImport(lane: LaneId, id: string): Promise<boolean>;
}

/**
 * Pauses the schedules of a revoked API key, and cancels every campaign that the key or one of them has created and that has not ended,
 * also those whose list still arrives. Returns the ids of the campaigns.
 */
export async function cancelCampaignsOf(
  { redis, keys, cancel, pauseSchedules, discardImport }: CampaignsOfKey,
  key: string,
): Promise<readonly string[]> {
  const isPaused = await pauseSchedules(key);
  const cancelled: string[] = [];
  for await (const { id, lane } of listCampaigns(redis, keys)) {
    const state = await orNull(readState(redis, keys, lane, id));
    if (state === null || state.state === 'completed' || state.state === 'cancelled') continue;
    const creator = (await orNull(readMeta(redis, keys, lane, id)))?.createdBy;
    const isOfKey = creator?.kind === 'key' && creator.id === key;
    if (!isOfKey && !(creator?.kind === 'schedule' && isPaused(creator.id ?? '', lane))) continue;
    try {
      if (state.state !== 'importing' || !(await discardImport(lane, id))) await cancel(id);
      cancelled.push(id);
    } catch (error) {
      // It has ended by itself meanwhile.
      if (!(error instanceof InputError || error instanceof NotFoundError)) throw error;
    }
  }
  return cancelled;
}

/** Cancels every campaign of a lane that has not ended, also those whose list still arrives. Returns how many recipients were cancelled. */
export async function cancelCampaignsOn({
  redis,
  keys,
  lane,
  cancel,
  discardImport,
}: Pick<CampaignsOfKey, 'redis' | 'keys' | 'cancel' | 'discardImport'> & {
  readonly lane: LaneId;
}): Promise<number> {
  let cancelled = 0;
  for (const id of await redis.hkeys(keys.lane(lane, 'states'))) {
    const state = await orNull(readState(redis, keys, lane, id));
    // What waits in outboxes is cancelled there.
    if (state === null || state.outbox !== undefined) continue;
    if (state.state === 'completed' || state.state === 'cancelled') continue;
    try {
      if (state.state !== 'importing' || !(await discardImport(lane, id)))
        cancelled += (await cancel(id)).cancelled;
    } catch (error) {
      if (!(error instanceof InputError || error instanceof NotFoundError)) throw error;
    }
  }
  return cancelled;
}
