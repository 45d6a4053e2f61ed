import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { InputError } from '../errors/errors.js';
import { listed } from '../errors/listed.js';
import type { InvalidCode } from '../views/list-views.js';
import { countryNamed } from './country-names.js';
import { type Reading, readInternational, readLocal } from './national-number.js';
import { callableForm } from './number-forms.js';
import { kindsOfCallingCode, type NumberingPlan, planOfCountry } from './numbering-plan.js';

/** Which numbers are accepted: `any`, or none that are known to be a landline, premium rate, shared cost, or voicemail number. */
export type NumberKinds = 'any' | 'mobile';

/** A number in E.164 with its plus, or why the text is not a number that can be sent to, and what would be right. */
type NumberOutcome =
  | {
      readonly ok: true;
      readonly number: string;
      /** Set if it is known to be a landline, premium rate, shared cost, or voicemail number. */
      readonly isNotMobile?: true;
      /** Set if it was written without its calling code, so that it is a number of the country in which it was read. */
      readonly isNational?: true;
    }
  | {
      readonly ok: false;
      readonly reason: string;
      /** Default: `invalidNumber`. */
      readonly code?: Extract<InvalidCode, 'noCountry' | 'noNumber'>;
    };

/**
 * Turns one spelling of a number into E.164. Never throws. `country`: in which country it is written if it has no calling code (two capital
 * letters; null: in none); default: the country of the reader.
 */
export type NumberReader = (spelling: string, country?: string | null) => NumberOutcome;

const EXAMPLE = '+447700900123';

/** E.164, section 6: a number has at most 15 digits, including the calling code. */
const MAX_DIGITS = 15;

/** With special rules, fewer digits are no number of any kind. Norfolk Island has mobile numbers of five (`80000` is +672 3 80000). */
const MIN_SPECIAL = 5;

/** No spelling of a number is longer, and patterns would take their time for it. */
const MAX_SPELLING = 100;

/** A missing plus is guessed only for numbers with at least this many digits; shorter ones are typing errors. */
const MIN_DIGITS_WITHOUT_PLUS = 11;

/**
 * Makes a reader for numbers that may be written nationally in `defaultCountry` (two capital letters, `GB`), or only
 * internationally if it is undefined. Throws an InputError, with the field `country`, for an unknown country.
 *
 * It accepts numbers of every known kind, and numbers of no known kind if they have the length of a mobile number: ranges open
 * faster than the metadata follows, Ofcom's numbers for drama are in none, and refusing a number that the network would
 * accept is worse than letting the network refuse it. It refuses other lengths, which are typing errors. With `kinds` `mobile`,
 * it also refuses numbers that are known to be landline, premium rate, shared cost, or voicemail numbers.
 */
export function numberReader(defaultCountry: string | undefined, kinds: NumberKinds = 'any'): NumberReader {
  const problem = problemOfCountry(defaultCountry);
  if (problem !== null) throw new InputError(problem, { field: 'country' });
  return (spelling, own) => {
    const country = own === undefined ? defaultCountry : (own ?? undefined);
    const home = country === undefined ? undefined : planOfCountry(country);
    const context = { spelling, country, kinds };
    const trimmed = spelling.trim();
    if (DIGITS.test(trimmed)) return readDigits(trimmed, home, context);
    if (SPACED.test(trimmed)) return readDigits(trimmed.replace(SEPARATORS, ''), home, context);
    if (trimmed.length > MAX_SPELLING) return invalid(noNumber(spelling));
    const tidied = tidy(normalised(trimmed));
    const digits = tidied.replace(SEPARATORS, '');
    const isOne = DIGITS.test(digits) && (digits === tidied || digits.length <= MAX_DIALLED);
    return isOne && !NEGATIVE.test(tidied)
      ? readDigits(digits, home, context)
      : invalid(...problemOf(tidied, spelling));
  };
}

/** Why this is not the code of a country; null if it is one, or undefined. */
export function problemOfCountry(country: string | undefined): string | null {
  if (country === undefined || planOfCountry(country) !== undefined) return null;
  const meant = countryNamed(country);
  const hint = meant === undefined ? 'use two capital letters such as GB, DK, or NO' : `use ${meant}`;
  return `${quote(country)} is not a country code; ${hint}`;
}

const DIGITS = /^\+?\d+$/;
/** The commonest spelling, which needs no cleaning up. */
const SPACED = /^\+?\d[\d -]*$/;
/** What libphonenumber calls punctuation, and all white space. */
const SEPARATORS =
  /[\s()[\].\-/~\u00ad\u2010-\u2015\u2053\u2212\u223c\u30fc\uff08\uff09\uff0d-\uff0f\uff3b\uff3d\uff5e]/g;
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const EXCEL_SCIENTIFIC = /^(?<whole>\+?\d+)(?:[.,](?<fraction>\d+))?e\+?(?<exponent>\d+)$/i;
/** What programs write before a number; `p:` are the lists of people who filled in an advertisement. */
const PREFIX = /^(?:tel|sms|smsto|callto|whatsapp|phone|mobile|p):\s*/i;
/** What a spreadsheet makes of +45-20123456: the number of someone else. */
const NEGATIVE = /^[-\u2212][1-9]\d*$/;
/** The end of `tel:7700900123;phone-context=+44` (RFC 3966). */
const CONTEXT = /^(?<local>[^;+]+);phone-context=(?<code>\+\d{1,3})$/i;
const EXTENSION = /^\+?[^\p{L};#,]*\d[^\p{L};#,]*(?:;ext=|[,;#]|\p{L}{1,9}[.:]?)[^\p{L}]{0,3}\d{1,7}#?$/u;
/** With separators, more digits are several numbers: E.164, and a prefix for calls abroad with the code of a carrier. */
const MAX_DIALLED = 18;
const FULL_WIDTH_PLUS = /\uff0b/g;
const OTHER_DIGIT = /[^\P{Nd}0-9]/gu;

/** Writes the plus signs and the digits of all scripts as ASCII, as libphonenumber does before it decides anything. */
export function normalised(spelling: string): string {
  return spelling.replace(FULL_WIDTH_PLUS, '+').replace(OTHER_DIGIT, (digit) => `${valueOfDigit(digit)}`);
}

/** The value of a digit of any script: Unicode has them in runs of ten, from 0 to 9, some of which follow one another. */
function valueOfDigit(digit: string): number {
  const own = digit.codePointAt(0) ?? 0;
  let first = own;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return (own - first) % 10;
}

/** Removes what programs put around numbers: ="…", a leading apostrophe, tel:, (0) after a calling code, .0 at the end, an exponent. */
function tidy(spelling: string): string {
  const bare = spelling
    .replace(INVISIBLE, '')
    .replace(/^="?(.*?)"?$/, '$1')
    .replace(/^['’‘`´]+/, '')
    .replace(PREFIX, '')
    .replace(CONTEXT, '$<code>$<local>')
    .trim();
  const withoutTrunk = /^(?:\+|00)/.test(bare) ? bare.replace(/\(0\)/, '') : bare;
  if (/^\+?\d+\.0+$/.test(withoutTrunk)) return withoutTrunk.replace(/\.0+$/, '');
  return exactDigits(withoutTrunk) ?? withoutTrunk;
}

/**
 * The digits of a number in the scientific notation of spreadsheets, `4.47700900123E+11`, if it has all of them: as many behind its point as
 * its exponent says. Null for any other text: with fewer, the spreadsheet may have rounded it.
 */
function exactDigits(text: string): string | null {
  const groups = EXCEL_SCIENTIFIC.exec(text)?.groups;
  const { whole = '', fraction = '', exponent } = groups ?? {};
  return Number(exponent) === fraction.length ? whole + fraction : null;
}

/** What is read, where, and which kinds of numbers count. */
interface Context {
  readonly spelling: string;
  readonly country: string | undefined;
  readonly kinds: NumberKinds;
}

function readDigits(digits: string, home: NumberingPlan | undefined, context: Context): NumberOutcome {
  if (digits.startsWith('+')) return settle(readInternational(digits), digits, context);
  if (home !== undefined) {
    const local = settle(readLocal(digits, home), digits, context);
    return local.ok ? local : (withForgottenPlus(digits) ?? local);
  }
  if (digits.startsWith('00'))
    return settle(readInternational(`+${digits.slice(2)}`), `+${digits.slice(2)}`, context);
  return invalid(
    `${quote(context.spelling)} has no calling code; write it like ${EXAMPLE}, or set \`country\``,
    'noCountry',
  );
}

function settle(reading: Reading, digits: string, context: Context): NumberOutcome {
  if (reading === 'unsure') return readSpecial(digits, context);
  if (reading !== 'noSuchCallingCode') return judge(reading, context);
  return invalid(
    `${quote(context.spelling)} begins with a calling code that does not exist; write it like ${EXAMPLE}`,
  );
}

/** Reads digits with special rules by the library. */
function readSpecial(digits: string, context: Context): NumberOutcome {
  const { spelling, country } = context;
  // The library throws and catches an error for these, which takes ten times as long as reading a number.
  if (digits.length < MIN_SPECIAL || digits.length > MAX_DIALLED) return invalid(noNumber(spelling));
  const parsed = parsePhoneNumberFromString(digits, {
    extract: false,
    ...(country !== undefined && isSupportedCountry(country) ? { defaultCountry: country } : {}),
  });
  if (parsed === undefined) return invalid(noNumber(spelling));
  const { countryCallingCode: callingCode, nationalNumber: national } = parsed;
  const isNational =
    !digits.startsWith('+') && country !== undefined && planOfCountry(country)?.callingCode === callingCode;
  return judge({ callingCode, national, ...(isNational && { isNational }) }, context);
}

/** Why a text with more than the digits of a number is none. */
function problemOf(tidied: string, spelling: string): Parameters<typeof invalid> {
  if (tidied === '') return [`is empty; enter a number such as ${EXAMPLE}`, 'noNumber'];
  if (EXCEL_SCIENTIFIC.test(tidied)) {
    const advice =
      'export the list again from where it comes from, and if you open it in Excel, import this column as Text';
    return [`${quote(spelling)} is in Excel's scientific notation, which has lost digits; ${advice}`];
  }
  if (NEGATIVE.test(tidied))
    return [`${quote(spelling)} is negative, as spreadsheets make of +45-20123456; write it without hyphens`];
  if (EXTENSION.test(tidied)) {
    const advice = 'which cannot receive messages; write the number without it';
    return [`${quote(spelling)} has an extension, ${advice}`];
  }
  return [noNumber(spelling)];
}

function judge(reading: Exclude<Reading, string>, { spelling, kinds }: Context): NumberOutcome {
  const { callingCode, isNational } = reading;
  const known = kindsOfCallingCode(callingCode);
  const number = callableForm(`+${callingCode}${reading.national}`);
  const national = number.slice(1 + callingCode.length);
  const taken = { ok: true, number, ...(isNational && { isNational }) } as const;
  if (known.mobile.test(national)) return taken;
  if (known.barred.test(national)) {
    if (kinds === 'any') return { ...taken, isNotMobile: true };
    return invalid(`${quote(spelling)} is a landline or service number (${number}); use a mobile number`);
  }
  if (known.other.test(national)) return taken;
  if (known.mobileLengths.includes(national.length) && number.length - 1 <= MAX_DIGITS)
    return readsAsItself(callingCode, national) ? taken : invalid(noNumber(spelling));
  return invalid(
    `${quote(spelling)} has ${national.length} ${national.length === 1 ? 'digit' : 'digits'} after +${callingCode}; mobile numbers there have ${listed(known.mobileLengths.map(String), 'or')}`,
  );
}

/** +359 0 0300… would become +359 0300…, which reads as +359 300…: a number must read as itself. */
function readsAsItself(callingCode: string, national: string): boolean {
  const again = readInternational(`+${callingCode}${national}`);
  return typeof again === 'string' || again.national === national;
}

/** Reads 4479… in a Danish list as +4479…, if that is a known mobile number and 4479… is not a Danish number. */
function withForgottenPlus(digits: string): NumberOutcome | null {
  if (digits.length < MIN_DIGITS_WITHOUT_PLUS || digits.startsWith('0')) return null;
  const reading = readInternational(callableForm(`+${digits}`));
  if (typeof reading === 'string') return null;
  const isMobile = kindsOfCallingCode(reading.callingCode).mobile.test(reading.national);
  return isMobile ? { ok: true, number: `+${reading.callingCode}${reading.national}` } : null;
}

function invalid(reason: string, code?: 'noCountry' | 'noNumber'): NumberOutcome {
  return { ok: false, reason, ...(code === undefined ? {} : { code }) };
}

function noNumber(spelling: string): string {
  return `${quote(spelling)} is not a phone number; write one number such as ${EXAMPLE}`;
}

function quote(spelling: string): string {
  return JSON.stringify(spelling.length > 40 ? `${spelling.slice(0, 40)}…` : spelling);
}
