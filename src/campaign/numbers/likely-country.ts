import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { readInternational } from './national-number.js';
import { numberReader } from './number.js';
import { mainCountryOf } from './numbering-plan.js';

/** The part of the numbers that must be valid in a country for it to be likely. */
const MOST = 0.5;
/** A number of up to six digits is a short code, which has no international format. */
const LONGEST_SHORT_CODE = 6;

/**
 * The country in which most of `numbers`, which are in national format, are valid; null if none is likely. Only the countries of
 * `international` numbers from the same campaign come into question, the commonest first: many other numbers of one country are
 * valid in another one as well.
 */
export function likelyCountry(numbers: readonly string[], international: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const number of international) {
    // A sender may be a name.
    if (!number.startsWith('+')) continue;
    const reading = readInternational(number);
    const country = typeof reading === 'string' ? undefined : mainCountryOf(reading.callingCode);
    if (country !== undefined) counts.set(country, (counts.get(country) ?? 0) + 1);
  }
  const candidates = [...counts].sort(([, one], [, other]) => other - one);
  const likely = candidates.find(([country]) => {
    const read = numberReader(country);
    return numbers.filter((number) => read(number).ok).length >= numbers.length * MOST;
  });
  return likely?.[0] ?? null;
}

/**
 * How to write a sender number internationally, if it is in national format: with a trunk prefix (`07700 900123`), or only valid
 * in `country`. Null if it is international, a short code, or a name. The result is empty if the country is not known.
 */
export function nationalSender(sender: string, country: string | undefined): string | null {
  const digits = sender.replace(/^tel:/, '');
  if (!/^\d+$/.test(digits) || digits.length <= LONGEST_SHORT_CODE) return null;
  const isPrefixed = digits.startsWith('0');
  if (!isPrefixed && parsePhoneNumberFromString(`+${digits}`)?.isValid() === true) return null;
  const read = parsePhoneNumberFromString(
    isPrefixed && digits.startsWith('00') ? `+${digits.slice(2)}` : digits,
    country !== undefined && isSupportedCountry(country) ? { defaultCountry: country } : {},
  );
  if (isPrefixed) return read?.isPossible() === true ? read.number : '';
  return read?.isValid() === true ? read.number : null;
}
