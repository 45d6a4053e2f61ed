import { z } from 'zod';
import { readMeta } from '../lane/campaigns.js';
import { deleteCampaign } from '../recipients/delete-campaign.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';

const dropScript = loadScript(import.meta.url, './drop-import.lua', (reply) =>
  z.enum(['dropped', 'alive', 'committed']).parse(reply),
);

/** Why an import is discarded: its own process gave up, or its lease expired because its process died. */
type DiscardReason = 'givenUp' | 'expired';

/**
 * Discards an import and releases its idempotency key. First the import becomes impossible to commit, then its data is deleted.
 * Returns false, and does nothing, if the import was committed, or if its lease still runs and its process has not given up.
 */
export async function discardImport(
  redis: Redis,
  keys: Keys,
  lane: string,
  campaign: string,
  reason: DiscardReason = 'expired',
): Promise<boolean> {
  const scriptKeys = ['states', 'importing'].map((name) => keys.lane(lane, name));
  const found = await dropScript.run(redis, scriptKeys, [campaign, reason === 'givenUp' ? 1 : 0, '']);
  if (found !== 'dropped') return false;
  const meta = await readMeta(redis, keys, lane, campaign);
  await deleteCampaign(redis, keys, { lane, campaign, ordinals: 0, idempotency: meta?.idempotency });
  return true;
}
