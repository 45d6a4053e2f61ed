import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { deleteCampaign, deleteIndexedRequests } from '../recipients/delete-campaign.js';
import { readMeta } from '../store/campaign-meta.js';
import { readState } from '../store/campaigns.js';

/** Returns how many chunks of the log of results were removed. */
const forgetResults = loadScript(import.meta.url, './forget-results.lua', (reply) => z.number().parse(reply));

/**
 * Removes all data of a campaign that has ended, after its retention period. A campaign that has not ended, or is still
 * being imported, is left alone. A removal that was interrupted continues: until its end, the campaign stays in the lane's
 * `ended` set. Returns how many recipients the campaign had; null if it was left alone or its state no longer exists. `earlyByMs`: how
 * long before the end of its retention an operator deletes it.
 */
export async function removeCampaign(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
  earlyByMs = 0,
): Promise<number | null> {
  const state = await readState(redis, keys, lane, campaign);
  if (state !== null && state.endedAt === 0) return null;
  const removed = { lane, campaign, ordinals: state?.ordinals ?? 0 };
  // Only unconfirmed recipients can still have requests in the index; all others left it when they were settled.
  if ((state?.counts.unconfirmed ?? 0) > 0) await deleteIndexedRequests(redis, keys, removed);
  if (state?.number !== undefined)
    await forgetResults.run(redis, { results: keys.lane(lane, 'results') }, { number: state.number });
  const meta = await readMeta(redis, keys, lane, campaign);
  await deleteCampaign(redis, keys, { ...removed, idempotency: meta?.idempotency, earlyByMs });
  return state?.total ?? null;
}
