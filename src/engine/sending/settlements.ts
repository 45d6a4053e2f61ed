import { type Settlement, settleScript } from '../lane/settlements.js';
import { acceptedKey } from '../recipients/campaign-keys.js';
import type { SendClaim } from './claims.js';
import type { SendResult } from './effects.js';

/** How a claimed batch ended. */
export interface SendSettlement extends Settlement {
  readonly claim: SendClaim;
  readonly result: SendResult;
}

/** Settles sends of a lane; see {@link settleScript}. */
export const settleSends = settleScript<SendSettlement>(
  import.meta.url,
  './settle-send.lua',
  ({ keys, id }, campaign) => [acceptedKey(keys, id, campaign)],
);
