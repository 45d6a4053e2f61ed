import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { NotFoundError } from '../../campaign/errors/errors.js';
import type { Lane } from '../../engine/lane/lane.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import { readState } from '../../engine/store/campaigns.js';
import { iso, isoOrNull } from '../../reporting/status.js';
import type { CreatedCampaign, ImportOutcome } from './campaign-input.js';

/** An imported campaign, as every surface shows it, with its state now. Throws a NotFoundError if it was removed meanwhile. */
export async function createdCampaign(
  redis: Redis,
  keys: Keys,
  lane: Pick<Lane, 'id' | 'name'>,
  { preview, ...imported }: Extract<ImportOutcome, { recipientCount: number }>,
): Promise<CreatedCampaign> {
  const { id } = imported;
  const [meta, state] = await Promise.all([
    readMeta(redis, keys, lane.id, id),
    readState(redis, keys, lane.id, id),
  ]);
  if (meta === null || state === null) throw new NotFoundError(`campaign ${id} was removed meanwhile`);
  const { repeats, sentBefore, cost, errors, warnings } = preview;
  return {
    ...imported,
    lane: lane.name,
    state: state.state,
    createdAt: iso(meta.created),
    sendAt: isoOrNull(state.launchAt),
    endedAt: isoOrNull(state.endedAt),
    repeats,
    sentBefore,
    cost,
    errors,
    warnings,
  };
}
