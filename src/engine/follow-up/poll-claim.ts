import type { Claims } from '../claim/claim-reply.js';
import type { Settlement } from '../claim/settlement.js';
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

/** The claims of a lane's polls. */
export type PollClaims = Claims<PollClaim, PollSettlement>;
