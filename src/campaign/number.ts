import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { type Reading, readInternational, readLocal } from './national-number.js';
import { kindsOfCallingCode, type NumberingPlan, planOfCountry } from './numbering-plan.js';

/** A number in E.164 with its plus, or why the text is none, in words that say what would be right. */
export type NumberOutcome =
  | { readonly ok: true; readonly number: string }
  | { readonly ok: false; readonly reason: string };

/** Turns one spelling of a number into E.164. Never throws. */
export type NumberReader = (spelling: string) => NumberOutcome;

const EXAMPLE = '+447700900123';

/** E.164, section 6: a number has at most 15 digits, the calling code among them. */
const MOST_DIGITS = 15;

/** A foreign number whose plus was forgotten is guessed only from this many digits on; shorter ones are typing errors. */
const FEWEST_DIGITS_OF_A_GUESS = 11;

/**
 * Makes a reader for numbers that may be written nationally in `defaultCountry` (two capital letters, `GB`), or only
 * internationally when it is undefined. Throws a RangeError for a country that does not exist.
 *
 * What is taken: a number of a kind that can be a mobile one, and also a number of no known kind whose length fits.
 * Ranges open faster than metadata follows, and Ofcom's numbers for drama are in none; refusing a number that the
 * network would have accepted is worse than the network refusing it. What is refused: wrong lengths, and what is
 * known to be a landline, premium rate, shared cost or voicemail.
 */
export function numberReader(defaultCountry: string | undefined): NumberReader {
  const home = defaultCountry === undefined ? undefined : planOfCountry(defaultCountry);
  if (defaultCountry !== undefined && home === undefined) throw new RangeError(noSuchCountry(defaultCountry));
  return (spelling) => {
    const trimmed = spelling.trim();
    if (DIGITS.test(trimmed)) return readDigits(trimmed, spelling, defaultCountry, home);
    if (SPACED.test(trimmed))
      return readDigits(trimmed.replace(SEPARATORS, ''), spelling, defaultCountry, home);
    const tidied = tidy(trimmed);
    const digits = tidied.replace(SEPARATORS, '');
    if (DIGITS.test(digits)) return readDigits(digits, spelling, defaultCountry, home);
    return readUnusual(tidied, spelling, defaultCountry);
  };
}

/** Why `country` is not one, with the likely right code. */
export function noSuchCountry(country: string): string {
  const upper = country.toUpperCase();
  const meant = upper === 'UK' ? 'GB' : upper;
  const hint = isSupportedCountry(meant) ? `use ${meant}` : 'use two capital letters such as GB, DK or NO';
  return `${quote(country)} is not a country code; ${hint}`;
}

const DIGITS = /^\+?\d+$/;
/** The commonest spelling, which needs no tidying. */
const SPACED = /^\+?\d[\d -]*$/;
const SEPARATORS = /[\s().\-\u2010-\u2015]/g;
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const EXCEL_SCIENTIFIC = /^\+?\d+(?:[.,]\d+)?e\+?\d+$/i;

/** Takes off what programs put around numbers: ="…", a leading apostrophe, tel:, (0) after a calling code, .0 at the end. */
function tidy(spelling: string): string {
  const bare = spelling
    .replace(INVISIBLE, '')
    .replace(/^="?(.*?)"?$/, '$1')
    .replace(/^['’‘`´]+/, '')
    .replace(/^(?:tel|sms):/i, '')
    .trim();
  const withoutTrunk = /^(?:\+|00)/.test(bare) ? bare.replace(/\(0\)/, '') : bare;
  return /^\+?\d+\.0+$/.test(withoutTrunk) ? withoutTrunk.replace(/\.0+$/, '') : withoutTrunk;
}

function readDigits(
  digits: string,
  spelling: string,
  country: string | undefined,
  home: NumberingPlan | undefined,
): NumberOutcome {
  if (digits.startsWith('+')) return settle(readInternational(digits), digits, spelling, country);
  if (home !== undefined) {
    const local = settle(readLocal(digits, home), digits, spelling, country);
    return local.ok ? local : (withForgottenPlus(digits) ?? local);
  }
  if (digits.startsWith('00')) {
    return settle(readInternational(`+${digits.slice(2)}`), `+${digits.slice(2)}`, spelling, country);
  }
  return {
    ok: false,
    reason: `${quote(spelling)} has no calling code; write it like ${EXAMPLE}, or name its country (--country, or country)`,
  };
}

function settle(
  reading: Reading,
  digits: string,
  spelling: string,
  country: string | undefined,
): NumberOutcome {
  switch (reading) {
    case 'unsure':
      return readUnusual(digits, spelling, country);
    case 'noSuchCallingCode':
      return {
        ok: false,
        reason: `${quote(spelling)} begins with a calling code that no country has; write it like ${EXAMPLE}`,
      };
    default:
      return judge(reading.callingCode, reading.national, spelling);
  }
}

/** Spellings beyond digits and separators: other scripts' digits, letters, extensions. The library reads them. */
function readUnusual(tidied: string, spelling: string, country: string | undefined): NumberOutcome {
  if (tidied === '') return { ok: false, reason: `is empty; a number such as ${EXAMPLE} belongs here` };
  if (EXCEL_SCIENTIFIC.test(tidied)) {
    const advice = 'format the column as Text in Excel, enter the numbers again and save';
    return {
      ok: false,
      reason: `${quote(spelling)} is Excel's scientific notation, which has lost digits; ${advice}`,
    };
  }
  const parsed = parsePhoneNumberFromString(tidied, {
    extract: false,
    ...(country !== undefined && isSupportedCountry(country) ? { defaultCountry: country } : {}),
  });
  if (parsed === undefined) {
    return { ok: false, reason: noNumber(spelling) };
  }
  if (parsed.ext !== undefined) {
    return { ok: false, reason: `${quote(spelling)} has an extension, which no text can reach` };
  }
  return judge(parsed.countryCallingCode, parsed.nationalNumber, spelling);
}

function judge(callingCode: string, national: string, spelling: string): NumberOutcome {
  const kinds = kindsOfCallingCode(callingCode);
  const number = `+${callingCode}${national}`;
  if (kinds.mobile.test(national)) return { ok: true, number };
  if (kinds.barred.test(national)) {
    return {
      ok: false,
      reason: `${quote(spelling)} is a landline or service number (${number}); a text needs a mobile number`,
    };
  }
  if (kinds.other.test(national)) return { ok: true, number };
  if (kinds.mobileLengths.includes(national.length) && number.length - 1 <= MOST_DIGITS) {
    return readsAsItself(callingCode, national)
      ? { ok: true, number }
      : { ok: false, reason: noNumber(spelling) };
  }
  const right = listOr(kinds.mobileLengths);
  return {
    ok: false,
    reason: `${quote(spelling)} has ${national.length} digits after +${callingCode}, where mobile numbers have ${right}`,
  };
}

/** +359 0 0300… would leave +359 0300…, which is read as +359 300…: one number must have one spelling. */
function readsAsItself(callingCode: string, national: string): boolean {
  const again = readInternational(`+${callingCode}${national}`);
  return typeof again === 'string' || again.national === national;
}

/** 4479… in a Danish file: taken for +4479… only if it is a known mobile number there and was none at home. */
function withForgottenPlus(digits: string): NumberOutcome | null {
  if (digits.length < FEWEST_DIGITS_OF_A_GUESS || digits.startsWith('0')) return null;
  const reading = readInternational(`+${digits}`);
  if (typeof reading === 'string') return null;
  const isMobile = kindsOfCallingCode(reading.callingCode).mobile.test(reading.national);
  return isMobile ? { ok: true, number: `+${reading.callingCode}${reading.national}` } : null;
}

function listOr(lengths: readonly number[]): string {
  const last = lengths.at(-1);
  return lengths.length < 2 ? `${last}` : `${lengths.slice(0, -1).join(', ')} or ${last}`;
}

function noNumber(spelling: string): string {
  return `${quote(spelling)} is not a phone number; write one number like ${EXAMPLE}`;
}

function quote(spelling: string): string {
  return JSON.stringify(spelling.length > 40 ? `${spelling.slice(0, 40)}…` : spelling);
}
