import { InputError, NotFoundError } from '../campaign/errors.js';
import { readMeta } from '../lane/campaign-meta.js';
import { listCampaigns, readState } from '../lane/campaigns.js';
import type { Redis } from '../redis/connection.js';
import type { Keys, LaneId } from '../redis/keys.js';

interface CampaignsOfKey {
  readonly redis: Redis;
  readonly keys: Keys;
  cancel(id: string): Promise<unknown>;
  /** Discards an import, so that it cannot be committed any more. False: it was committed meanwhile. */
  discardImport(lane: LaneId, id: string): Promise<boolean>;
}

/**
 * Cancels every campaign that a revoked API key has created and that has not ended, also those whose list still arrives. Returns
 * their ids.
 */
export async function cancelCampaignsOf(
  { redis, keys, cancel, discardImport }: CampaignsOfKey,
  key: string,
): Promise<readonly string[]> {
  const cancelled: string[] = [];
  for await (const { id, lane } of listCampaigns(redis, keys)) {
    const state = await readState(redis, keys, lane, id);
    if (state === null || state.state === 'completed' || state.state === 'cancelled') continue;
    const creator = (await readMeta(redis, keys, lane, id))?.createdBy;
    if (creator?.kind !== 'key' || creator.id !== key) continue;
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
