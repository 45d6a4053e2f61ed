import { RECIPIENT_STATES, type RecipientState } from '../campaign/recipient.js';

/**
 * Reads a status as people and programs write it, in any case: a recipient state such as `deliveredToTerminal`, which is
 * also how the service spells it (`DeliveredToTerminal`), or `delivered` for short. Null if it is none of them.
 */
export function parseReportedStatus(text: string): RecipientState | null {
  const name = text.trim().toLowerCase();
  if (name === 'delivered') return 'deliveredToTerminal';
  return RECIPIENT_STATES.find((state) => state.toLowerCase() === name) ?? null;
}
