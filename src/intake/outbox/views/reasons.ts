import type { RecipientState } from '../../../campaign/states/recipient.js';

/** Why a message was not sent, for states that no request explains. */
export const REASONS: Partial<Readonly<Record<RecipientState, string>>> = {
  lapsed: 'it was too late when it could have been sent',
  cancelled: 'cancelled before it was sent',
  suppressed: 'on the suppression list',
};
