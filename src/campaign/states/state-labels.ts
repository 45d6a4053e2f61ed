import type { RecipientState } from './recipient.js';

/** What people read for the states of recipients. */
export const STATE_LABELS: Readonly<Record<RecipientState, string>> = {
  deliveredToTerminal: 'delivered',
  deliveredToNetwork: 'on network',
  sending: 'sending',
  unknown: 'unknown',
  deliveryImpossible: 'impossible',
  rejected: 'rejected',
  abandoned: 'abandoned',
  unconfirmed: 'unconfirmed',
  lapsed: 'lapsed',
  cancelled: 'cancelled',
  suppressed: 'suppressed',
  planned: 'planned',
};

/** What people read for a state of recipients; other names stay as they are. */
export function stateLabel(state: string): string {
  return Object.hasOwn(STATE_LABELS, state) ? STATE_LABELS[state as RecipientState] : state;
}
