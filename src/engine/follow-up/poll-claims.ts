import type { Random } from '../../base/clock.js';
import type { ClaimCall, ClaimReply } from '../claim/claim-reply.js';
import { claimReply, confirmClaim } from '../claim/claims.js';
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
    take: async ({
      turn,
      call,
      want,
      age = NO_PERMIT.age,
      seen = 0,
      kept = 0,
      process = '',
      now,
    }: ClaimCall): Promise<ClaimReply<PollClaim>> => ({
      ...(await claimPoll(store, { turn, call, want, seen, kept, process, time: now })),
      permit: grantPermit(store.rules, age),
    }),
    confirm: (claim) => confirmClaim(store, 'poll', claim),
    settle: (settlements) => settlePolls(store, settlements, store.random?.() ?? 0),
  };
}
