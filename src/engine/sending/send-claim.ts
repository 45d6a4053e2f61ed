import type { Claims } from '../claim/claim-reply.js';
import type { Settlement } from '../claim/settlement.js';
import type { SendResult } from './effects.js';

/** A batch that may be sent: recipients `first` to `first + count - 1` of a campaign, or one message of an outbox. */
export interface SendClaim {
  /** Identifies the claim. Numbers only increase. */
  readonly number: number;
  /** The turn that made it. After a loss of data, Redis may give its number to another turn. */
  readonly turn: string;
  /** Of a message: `outbox:` and the name of its outbox. */
  readonly campaign: string;
  /** Of a message: its number. */
  readonly first: number;
  readonly count: number;
  /** The id of a message. */
  readonly message?: string | undefined;
  /** The revision of the content with which it is sent; undefined is 0. */
  readonly edition?: number | undefined;
  /**
   * Set if an earlier request may have been accepted: the batch goes again whole and unchanged, under the correlator of that request, or
   * by an operator's command.
   */
  readonly again?: 'underCorrelator' | 'byOperator';
  /** When the first request that may have been accepted was claimed, by the clock of Redis, ms. */
  readonly firstAt?: number | undefined;
  /** How long after the claim call it may leave, ms: until its window closes, until it lapses, or while the service recognises it as a repeat. */
  readonly leaveWithinMs?: number;
}

/** How a claimed batch ended. */
export interface SendSettlement extends Settlement {
  readonly claim: SendClaim;
  readonly result: SendResult;
}

/** The claims of a lane's batches. */
export type SendClaims = Claims<SendClaim, SendSettlement>;
