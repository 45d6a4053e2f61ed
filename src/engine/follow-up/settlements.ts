import { type Settlement, settleScript } from '../lane/settlements.js';
import type { PollClaim } from './claims.js';
import type { PollResult } from './effects.js';

/** How a claimed poll ended. */
export interface PollSettlement extends Settlement {
  readonly claim: PollClaim;
  readonly result: PollResult;
}

/** Settles polls of a lane; see {@link settleScript}. */
export const settlePolls = settleScript<PollSettlement>(import.meta.url, './settle-poll.lua');
