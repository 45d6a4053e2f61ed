import type { Random } from '../../base/clock.js';
import { claimArgs, claimReply, confirmClaim } from '../claim/claims.js';
import { grantPermit, NO_PERMIT } from '../claim/permit.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import type { PollClaim, PollClaims } from './poll-claim.js';
import { settlePolls } from './settlements.js';

const claimPoll = laneScript(
  import.meta.url,
  './claim-poll.lua',
  claimReply(
    ({ number, turn, campaign, first, message }): PollClaim => ({
      number,
      turn,
      campaign,
      first,
      ...(message === undefined ? {} : { message }),
    }),
  ),
  { comparesClock: true },
);

/** The claims of a lane's polls in Redis. `random`: backoffs that {@link settlePolls} begins vary by it; tests need none. */
export function pollClaims(store: LaneStore & { readonly random?: Random }): PollClaims {
  return {
    take: async (call) => ({
      ...(await claimPoll(store, claimArgs(call))),
      permit: grantPermit(store.rules, call.age ?? NO_PERMIT.age),
    }),
    confirm: (claim) => confirmClaim(store, 'poll', claim),
    settle: (settlements) => settlePolls(store, settlements, store.random?.() ?? 0),
  };
}
