import type { ReportedStatus } from './reported-status.js';

/** States that the command line does not call by their name. */
const SHORT_LABELS: Readonly<Record<string, string>> = {
  deliveredToTerminal: 'delivered',
  deliveredToNetwork: 'on network',
  deliveryImpossible: 'impossible',
};

/** A state of recipients as the command line writes it, in few columns. */
export const stateLabel = (state: string): string => SHORT_LABELS[state] ?? state;

/** Each state of a recipient as those who send read it, and what it means; and why a row of a list became no recipient. */
export const PLAIN_STATES = {
  planned: ['Not sent yet', 'It waits for its turn.'],
  sending: ['Being sent', 'The service has it, and has not answered yet.'],
  deliveredToNetwork: ['Sent', 'The service has accepted it. The phone has not confirmed it yet.'],
  deliveredToTerminal: ['Delivered', 'The phone has confirmed it.'],
  deliveryImpossible: ['Not deliverable', 'The phone cannot be reached; the number may not exist.'],
  rejected: ['Refused', 'The service did not accept it.'],
  lapsed: ['Too late', 'It could not be sent in time, so it was not sent.'],
  cancelled: ['Stopped', 'The campaign was stopped before it was sent.'],
  suppressed: ['Suppressed', 'The number is on a list of those that get nothing, such as after a STOP.'],
  unknown: ['Not known', 'The service gave no clear answer, so it may have arrived. Decide what to do.'],
  unconfirmed: ['Never confirmed', 'It counts as sent, but nothing confirms that it arrived.'],
  abandoned: ['Counted as not sent', 'It is not known whether it arrived. It is not sent again.'],
  duplicate: ['Duplicate row', 'The number is in the list already.'],
  invalid: ['Invalid row', 'Something is wrong with the row, so it was left out.'],
} as const satisfies Readonly<Record<ReportedStatus, readonly [word: string, meaning: string]>>;

const FINE: readonly ReportedStatus[] = ['planned', 'sending', 'deliveredToNetwork', 'deliveredToTerminal'];
/** Why a recipient is in a state of which nothing else is known; empty if the state says it all. */
export const meaningOf = (status: ReportedStatus): string =>
  FINE.includes(status) ? '' : PLAIN_STATES[status][1];
