import { type ClaimCall, type ClaimReply, claimReply, confirmClaim } from '../lane/claims.js';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { grantPermit, NO_PERMIT } from '../lane/permit.js';

/** A batch that may be sent: recipients `first` to `first + count - 1` of a campaign. */
export interface SendClaim {
  /** Identifies the claim. Numbers only increase. */
  readonly number: number;
  /** The turn that made it. After a loss of data, Redis may give its number to another turn. */
  readonly turn: string;
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
  /** Set if an earlier request may have been accepted: 1 or 2, see campaign.lua. */
  readonly maybeAccepted?: number;
}

const claimSend = laneScript(
  import.meta.url,
  './claim-send.lua',
  claimReply(
    ({ number, turn, campaign, first, count, maybeAccepted }): SendClaim => ({
      number,
      turn,
      campaign,
      first,
      count,
      ...(maybeAccepted === undefined ? {} : { maybeAccepted }),
    }),
  ),
);

/** The claims of a lane's batches. Each call is safe to repeat. */
export function sendClaims(store: LaneStore) {
  return {
    /** Claims the next batches. */
    take: async ({
      turn,
      call,
      want,
      age = NO_PERMIT.age,
      seen = 0,
      process = '',
      loss = 0,
      now,
    }: ClaimCall): Promise<ClaimReply<SendClaim>> => ({
      ...(await claimSend(store, { turn, call, want, seen, process, loss, time: now })),
      permit: grantPermit(store.rules, age),
    }),
    /** Whether the claim still holds. */
    confirm: (claim: SendClaim): Promise<boolean> => confirmClaim(store, 'send', claim),
  };
}

/** See {@link sendClaims}. */
export type SendClaims = ReturnType<typeof sendClaims>;
