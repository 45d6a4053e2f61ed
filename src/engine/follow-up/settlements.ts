import { settleScript } from '../claim/settlements.js';
import type { PollSettlement } from './poll-claim.js';

/** Settles polls of a lane; see {@link settleScript}. */
export const settlePolls = settleScript<PollSettlement>(import.meta.url, './settle-poll.lua');
