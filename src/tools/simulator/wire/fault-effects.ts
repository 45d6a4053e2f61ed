import type { AccountFault, PollFault, RecordsFault, RecordsReadFault, SendFault } from '../rules/faults.js';
import type { Outcome } from '../state/arrivals.js';
import { forbidden, retryAfter, tooManyRequests } from './replies.js';
import { type Answer, failure, RESET, SILENCE, unreadable } from './wire.js';

/** Faults that are the same wherever they happen. The others change an ordinary answer. */
export type PlainFault = Exclude<
  SendFault | PollFault | AccountFault | RecordsFault | RecordsReadFault,
  'withoutRequestId' | 'withoutId' | 'notFound' | 'loginTimeout' | 'cut'
>;

/** What a fault does. */
export interface Effect {
  /** Whether the request has its effect nevertheless. */
  readonly isProcessed: boolean;
  readonly answer: Answer;
  /** Of a request to the messaging interface that is not processed. */
  readonly outcome: Outcome;
}

/** What a fault does to a request that arrives at `now`. `status`: of the ordinary answer. */
export function effectOf(
  fault: PlainFault,
  { now, retryAfterSeconds, status = 200 }: { now: number; retryAfterSeconds: number; status?: number },
): Effect {
  switch (fault) {
    case 'throttle':
    case 'throttleSeconds':
    case 'throttleDate': {
      const form = fault === 'throttle' ? 'none' : fault === 'throttleDate' ? 'date' : 'seconds';
      const answer = tooManyRequests(retryAfter(form, now, retryAfterSeconds));
      return { isProcessed: false, answer, outcome: 'throttledByFault' };
    }
    case 'error500':
    case 'error500After':
      return {
        isProcessed: fault === 'error500After',
        answer: failure(500, 'internal error'),
        outcome: 'error',
      };
    case 'error503':
      return { isProcessed: false, answer: failure(503, 'service unavailable'), outcome: 'error' };
    case 'forbid':
      return { isProcessed: false, answer: forbidden(), outcome: 'forbidden' };
    case 'reset':
    case 'resetBefore':
    case 'resetAfter':
      return { isProcessed: fault === 'resetAfter', answer: RESET, outcome: 'reset' };
    case 'hang':
    case 'acceptAndHang':
      return { isProcessed: fault === 'acceptAndHang', answer: SILENCE, outcome: 'hang' };
    case 'unreadable':
      return { isProcessed: true, answer: unreadable(status), outcome: 'error' };
    default:
      return fault satisfies never;
  }
}
