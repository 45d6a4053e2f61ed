import type { Redis } from '../base/redis/connection.js';
import type { Keys } from '../base/redis/keys.js';
import { ACCEPTED_STATES, acceptedCost } from '../engine/recipients/costs.js';
import type { CampaignMeta } from '../engine/store/campaign-meta.js';
import type { StoredState } from '../engine/store/campaigns.js';

/**
 * What the messages of a campaign cost that the service has accepted so far, in micros; null if that is not known. Where messages
 * cost different amounts, the status of each is read: not for a list of campaigns, which is not `isDetailed`.
 */
export async function costSoFar(
  redis: Redis,
  keys: Keys,
  { id, lane, cost }: CampaignMeta,
  { counts, ordinals }: Pick<StoredState, 'counts' | 'ordinals'>,
  { isDetailed }: { readonly isDetailed: boolean },
): Promise<bigint | null> {
  if (cost?.costs === undefined) return null;
  const [each = 0, ...others] = cost.costs;
  const accepted = ACCEPTED_STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  if (others.length === 0 || accepted === 0) return BigInt(each) * BigInt(accepted);
  return isDetailed ? acceptedCost(redis, keys, { lane, id, costs: cost.costs, ordinals }) : null;
}
