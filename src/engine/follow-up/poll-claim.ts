import type { ClaimCall, ClaimReply } from '../claim/claim-reply.js';
import type { Settlement, SettleResult } from '../claim/settlement.js';
import type { PollResult } from './effects.js';

/** A request that may be polled: that of the batch that begins at `first`, or of a message. */
export interface PollClaim {
  /** Identifies the claim. Numbers only increase. */
  readonly number: number;
  /** The turn that made it. */
  readonly turn: string;
  readonly campaign: string;
  readonly first: number;
  /** Of an outbox: the id of the message whose number is `first`. */
  readonly message?: string | undefined;
}

/** How a claimed poll ended. */
export interface PollSettlement extends Settlement {
  readonly claim: PollClaim;
  readonly result: PollResult;
}

/** The claims of a lane's polls. Each call is safe to repeat. */
export interface PollClaims {
  /** Claims the requests that are due for a poll. */
  take(call: ClaimCall): Promise<ClaimReply<PollClaim>>;
  /** Whether the claim still holds, and so its permit. */
  confirm(claim: PollClaim): Promise<boolean>;
  /** Says how polls ended. */
  settle(settlements: readonly PollSettlement[]): Promise<SettleResult>;
}
