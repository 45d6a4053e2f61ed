import type { DeliveryStatus, StatusWord } from '../../campaign/states/recipient.js';
import { quoteOf } from './reason.js';

/** Longer than any documented word. */
const MAX_WORD = 60;

/** The statuses that say everything in their plain word, whatever their code: what most recipients get. */
const PLAIN: ReadonlySet<string> = new Set<DeliveryStatus>(['DeliveredToNetwork', 'DeliveredToTerminal']);

/**
 * The service's own word and code for a delivery status, where they say more than what the word means to Volley; otherwise undefined.
 * `DeliveryImpossible` says more only with a code. The texts are fit for people.
 */
export function statusWord(word: string, code: unknown): StatusWord | undefined {
  const shownCode = /^[\w.-]{1,20}$/.test(String(code ?? '')) ? String(code) : '';
  if (PLAIN.has(word) || (word === 'DeliveryImpossible' && shownCode === '')) return undefined;
  return { word: quoteOf(word).slice(0, MAX_WORD), code: shownCode };
}
