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
  /** When the first request that may have been accepted was claimed, by the clock of Redis, ms. */
  readonly firstAt?: number | undefined;
  /** How long after the claim call it may leave, ms: until its window closes, or while the service recognises it as a repeat. */
  readonly leaveWithinMs?: number;
}

/** `maybeAccepted` of a batch that is sent again under the correlator of an earlier request. */
export const REPEAT = 1;

/** A claim as Redis returns it. `closesAt`: when its window closes, by the clock of Redis, ms. */
type StoredClaim = Omit<SendClaim, 'leaveWithinMs'> & { readonly closesAt?: number };

const claimSend = laneScript(
  import.meta.url,
  './claim-send.lua',
  claimReply(
    ({ number, turn, campaign, first, count, at, maybeAccepted, firstAt, closesAt }): StoredClaim => ({
      number,
      turn,
      campaign,
      first,
      count,
      ...(maybeAccepted === undefined ? { firstAt: at } : { maybeAccepted, firstAt: firstAt ?? 0 }),
      ...(closesAt === undefined ? {} : { closesAt }),
    }),
  ),
  { comparesClock: true },
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
      replicaLoss = loss,
      now,
    }: ClaimCall): Promise<ClaimReply<SendClaim>> => {
      const reply = await claimSend(store, { turn, call, want, seen, process, loss, replicaLoss, time: now });
      const claims = reply.claims.map(({ closesAt = Number.POSITIVE_INFINITY, ...claim }): SendClaim => {
        const isRepeat = claim.maybeAccepted === REPEAT;
        const repeatUntil = isRepeat ? (claim.firstAt ?? 0) + store.rules.repeatFor : closesAt;
        const leaveWithinMs = Math.min(closesAt - 1, repeatUntil) - reply.now;
        return leaveWithinMs === Number.POSITIVE_INFINITY ? claim : { ...claim, leaveWithinMs };
      });
      return { ...reply, claims, permit: grantPermit(store.rules, age) };
    },
    /** Whether the claim still holds. */
    confirm: (claim: SendClaim): Promise<boolean> => confirmClaim(store, 'send', claim),
  };
}

/** See {@link sendClaims}. */
export type SendClaims = ReturnType<typeof sendClaims>;
