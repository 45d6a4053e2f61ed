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

type Cancelling = Omit<CampaignsOfKey, 'pauseSchedules'>;
type Found = { readonly id: string; readonly lane: LaneId };

/**
 * Pauses the schedules of a revoked API key, and cancels every campaign that the key or one of them has created and that has not ended,
 * also those whose list still arrives. Returns the ids of the campaigns.
 */
export async function cancelCampaignsOf(deps: CampaignsOfKey, key: string): Promise<readonly string[]> {
  const { redis, keys } = deps;
  const isPaused = await deps.pauseSchedules(key);
  const isOfKey = async (id: string, lane: LaneId): Promise<boolean> => {
    const creator = (await orNull(readMeta(redis, keys, lane, id)))?.createdBy;
    if (creator?.kind === 'schedule') return isPaused(creator.id ?? '', lane);
    return creator?.kind === 'key' && creator.id === key;
  };
  return [...(await cancelOpen(deps, listCampaigns(redis, keys), isOfKey)).keys()];
}

/** Cancels every campaign of a lane that has not ended, also those whose list still arrives. Returns how many recipients were cancelled. */
export async function cancelCampaignsOn(deps: Cancelling, lane: LaneId): Promise<number> {
  const ids = await deps.redis.hkeys(deps.keys.lane(lane, 'states'));
  const found = ids.map((id) => ({ id, lane }));
  const cancelled = await cancelOpen(deps, found, async () => true);
  return [...cancelled.values()].reduce((sum, count) => sum + count, 0);
}

/** Cancels those of these campaigns that have not ended and are wanted. Returns how many recipients of each were cancelled. */
async function cancelOpen(
  { redis, keys, cancel, discardImport }: Cancelling,
  campaigns: AsyncIterable<Found> | Iterable<Found>,
  isWanted: (id: string, lane: LaneId) => Promise<boolean>,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const { id, lane } of campaigns) {
    const state = await orNull(readState(redis, keys, lane, id));
    // What waits in outboxes is cancelled there.
    if (state === null || state.outbox !== undefined) continue;
    if (state.state === 'completed' || state.state === 'cancelled') continue;
    if (!(await isWanted(id, lane))) continue;
    try {
      const isDiscarded = state.state === 'importing' && (await discardImport(lane, id));
      counts.set(id, isDiscarded ? 0 : (await cancel(id)).cancelled);
    } catch (error) {
      // It has ended by itself meanwhile.
      if (!(error instanceof InputError || error instanceof NotFoundError)) throw error;
    }
  }
  return counts;
}
