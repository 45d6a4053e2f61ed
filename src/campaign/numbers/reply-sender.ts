import { numberReader } from './number.js';

/*
 * Who sent a message, as gateways write it. A list is checked before it is sent, and a wrong number in it is refused; a stop word comes once,
 * so nothing is refused here: what can be a number is one.
 */

/** `tel:+44…;phone-context=…`, `sip:+44…@example.net`, `+44…/TYPE=PLMN`. */
const WRAPPED = /^(?:[a-z]{2,10}:)?([^;@/]*)/i;
/** Digits, with what people put between them. */
const DIGITS = /^\+?[\d\s().\-\u2010-\u2015]+$/;
/** How a number begins that is dialled from abroad. */
const DIALLED = /^(?:00|011)(?=[1-9])/;
/** What fewer digits make is a short code. */
const MIN_DIGITS = 7;
const MAX_DIGITS = 15;

/**
 * The numbers, E.164 with their plus, that a spelling may mean, the likeliest first; none for a short code or a name. Digits without a plus
 * may be national or international. `country`: that of a national number. Throws an InputError for an unknown country.
 */
export function senderNumbers(spelling: string, country: string | undefined): readonly string[] {
  const text = spelling.replace(/%2B/i, '+').normalize('NFKC').trim();
  const bare = (WRAPPED.exec(text)?.[1] ?? '').trim();
  const found = [numberReader(country)(bare)];
  const digits = DIGITS.test(bare) ? bare.replace(/\D/g, '') : '';
  const international = bare.startsWith('+') ? digits : digits.replace(DIALLED, '');
  if (digits !== '' && !bare.startsWith('+')) found.push(numberReader(undefined)(`+${international}`));
  const numbers = new Set(found.flatMap((read) => (read.ok ? [read.number] : [])));
  if (numbers.size > 0) return [...numbers];
  const { length } = international;
  const isNumber = length >= MIN_DIGITS && length <= MAX_DIGITS && !international.startsWith('0');
  return isNumber ? [`+${international}`] : [];
}
