import { settleScript } from '../claim/settlements.js';
import { acceptedKey } from '../recipients/campaign-keys.js';
import type { SendSettlement } from './send-claim.js';

/** Settles sends of a lane; see {@link settleScript}. */
export const settleSends = settleScript<SendSettlement>(
  import.meta.url,
  './settle-send.lua',
  ({ keys, id }, campaign) => [acceptedKey(keys, id, campaign)],
);
