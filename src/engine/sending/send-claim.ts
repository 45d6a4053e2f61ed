import type { ClaimCall, ClaimReply } from '../lane/claim-reply.js';
import type { Settlement, SettleResult } from '../lane/settlement.js';
import type { SendResult } from './effects.js';

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

/** How a claimed batch ended. */
export interface SendSettlement extends Settlement {
  readonly claim: SendClaim;
  readonly result: SendResult;
}

/** The claims of a lane's batches. Each call is safe to repeat. */
export interface SendClaims {
  /** Claims the next batches. */
  take(call: ClaimCall): Promise<ClaimReply<SendClaim>>;
  /** Whether the claim still holds. */
  confirm(claim: SendClaim): Promise<boolean>;
  /** Says how batches ended. */
  settle(settlements: readonly SendSettlement[]): Promise<SettleResult>;
}
