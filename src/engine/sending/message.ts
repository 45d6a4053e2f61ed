import type { SendRequest } from '../../service/client/messaging-client.js';
import type { Charge } from '../claim/settlement.js';
import type { DamagedError } from '../recipients/damaged.js';
import type { SendClaim } from './send-claim.js';

/**
 * The request that sends a batch. `suppressed`: for each recipient of the batch, whether it is left out; `firstMayDiffer`: the request
 * that it repeats may have left out a recipient that this one has; `charge`: what the batch is charged for.
 */
export type Message = SendRequest & {
  readonly suppressed: readonly boolean[];
  readonly charge?: Charge;
  readonly firstMayDiffer?: boolean;
};

/** Renders the messages of claims. */
export interface Messages {
  /** Returns one message per claim, or the error if its campaign cannot be read. */
  render(claims: readonly SendClaim[]): Promise<(Message | DamagedError)[]>;
  /** Whether none of the message's recipients has been suppressed since it was rendered. */
  isAllowed(claim: SendClaim, message: Message): Promise<boolean>;
}
