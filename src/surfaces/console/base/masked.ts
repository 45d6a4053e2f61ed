import { effect, signal } from '@preact/signals';

const KEY = 'volley-reveal';

export const isRevealed = signal(globalThis.sessionStorage?.getItem(KEY) === 'yes');
effect(() => globalThis.sessionStorage?.setItem(KEY, isRevealed.value ? 'yes' : ''));

const [SHOWN_AT_START, SHOWN_AT_END] = [4, 3];

/** A number without the digits in the middle: the start and the end tell numbers apart. `+447700900123` → `+4477•••••123` */
export function masked(text: string): string {
  const count = text.replace(/\D/g, '').length;
  const isShort = count <= SHOWN_AT_START + SHOWN_AT_END;
  let at = 0;
  const isShown = (): boolean => at++ < SHOWN_AT_START || at > count - SHOWN_AT_END;
  return text.replace(/\d/g, (digit) => (!isShort && isShown() ? digit : '•'));
}

/** What stands in place of a number that someone has written, in its form. Fewer than eight digits are what is wrong, and are shown. */
export const maskedAsWritten = (text: string): string =>
  isRevealed.value || text.replace(/\D/g, '').length < 8 ? text : masked(text);
