import { signal } from '@preact/signals';

/*
 * Numbers of people are masked, so that a screenshot can be shown, unless a reader reveals them for this tab.
 */

const KEY = 'volley-reveal';

export const isRevealed = signal(globalThis.sessionStorage?.getItem(KEY) === 'yes');

export function reveal(shown: boolean): void {
  isRevealed.value = shown;
  if (shown) sessionStorage.setItem(KEY, 'yes');
  else sessionStorage.removeItem(KEY);
}

/** What stands in place of a number that someone has written: as it is, without the digits that make it one. Fewer than eight digits are what is wrong, and are shown. */
export function maskedAsWritten(text: string): string {
  const count = text.replace(/\D/g, '').length;
  if (isRevealed.value || count < 8) return text;
  let at = 0;
  return text.replace(/\d/g, (digit) => (at++ < SHOWN_AT_START || at > count - SHOWN_AT_END ? digit : '•'));
}

const SHOWN_AT_START = 4;
const SHOWN_AT_END = 3;

/** `+447700900123` → `+44 77•• •••123`: the start and the end tell numbers apart, and a spoken length stays visible. */
export function masked(number: string): string {
  const digits = number.replace(/\D/g, '');
  if (digits.length <= SHOWN_AT_START + SHOWN_AT_END) return number.replace(/\d/g, '•');
  const hidden = '•'.repeat(digits.length - SHOWN_AT_START - SHOWN_AT_END);
  return grouped(digits.slice(0, SHOWN_AT_START) + hidden + digits.slice(-SHOWN_AT_END));
}

/** In groups, as people read them: `+44 77•• •••123`. */
function grouped(text: string): string {
  const rest = text.slice(2);
  const tail = rest.slice(4);
  return `+${text.slice(0, 2)} ${rest.slice(0, 4)}${tail === '' ? '' : ` ${tail}`}`;
}
