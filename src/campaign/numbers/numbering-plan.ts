import metadata from 'libphonenumber-js/max/metadata';

/**
 * A country's numbering plan, from libphonenumber's own metadata, with its patterns compiled once. The library compiles them
 * for every number, which makes it twenty times slower.
 */
export interface NumberingPlan {
  /** Calling code without plus: `44`. */
  readonly callingCode: string;
  /** The prefix for calls abroad, at the start of a number: `00`, `011`. */
  readonly internationalPrefix: RegExp | null;
  /** Any national number of the country. */
  readonly general: RegExp;
  /** Lengths of a national number of any kind, ascending. */
  readonly lengths: readonly number[];
  /** The trunk prefix, at the start of a national number: `0`. */
  readonly nationalPrefix: RegExp | null;
}

/** The kinds of numbers under one calling code, which several countries may share, such as +1 and +44. */
interface NumberKinds {
  /** Mobile numbers, and ranges that mix mobile and fixed lines. */
  readonly mobile: RegExp;
  /** Numbers that hardly receive messages: landlines, premium rate, shared cost, voicemail. */
  readonly barred: RegExp;
  /** Other known kinds. Some of them receive messages: pagers, personal and internet numbers, toll-free in the US. */
  readonly other: RegExp;
  /** Lengths of a mobile number without the calling code, ascending. */
  readonly mobileLengths: readonly number[];
}

/** Positions of the kinds of numbers in the metadata (METADATA.md of libphonenumber-js, "types"). */
const FIXED = 0;
const MOBILE = 1;
const BARRED = [FIXED, 3, 5, 9];
const OTHER = [2, 4, 6, 7, 8];
const KINDS = [MOBILE, ...BARRED, ...OTHER];

const LONGEST_CALLING_CODE = 3;

const NOTHING = /(?!)/;

type Raw = readonly unknown[];

const rawByCountry = new Map<string, Raw>(Object.entries(metadata.countries));
const rawNonGeographic = new Map<string, Raw>(Object.entries(metadata.nonGeographic));
const countriesByCode = new Map<string, readonly string[]>(Object.entries(metadata.country_calling_codes));

/** All countries with a numbering plan, by their two-letter codes in capitals. */
export const COUNTRIES: ReadonlySet<string> = new Set(rawByCountry.keys());

/** By country. */
const ranges = new Map<string, RegExp>();
/** By country, and by calling code with a plus. */
const plans = new Map<string, NumberingPlan | undefined>();
const kinds = new Map<string, NumberKinds>();

/** The plan of a country, by its two-letter code in capitals: `GB`. Undefined for an unknown country. */
export function planOfCountry(country: string): NumberingPlan | undefined {
  return planOf(country, () => rawByCountry.get(country));
}

/** The plan of a calling code; of the main country if several share it. Undefined for an unknown code. */
export function planOfCallingCode(code: string): NumberingPlan | undefined {
  return planOf(`+${code}`, () => rawsOf(code)[0]);
}

/** The main country of a calling code: `GB` of `44`. Undefined for an unknown code. */
export function mainCountryOf(code: string): string | undefined {
  return countriesByCode.get(code)?.[0];
}

/** The calling code of a number in E.164 with its plus: `44`. Undefined if it begins with none. */
export function callingCodeOf(number: string): string | undefined {
  for (let end = 2; end <= LONGEST_CALLING_CODE + 1; end++) {
    const code = number.slice(1, end);
    if (countriesByCode.has(code) || rawNonGeographic.has(code)) return code;
  }
  return undefined;
}

/**
 * The country of a number in E.164 with its plus, as libphonenumber determines it: where several countries share a calling code, the first one
 * with a range that contains the number, and the main country if none has. Undefined for numbers of no country, such as +800.
 */
export function countryOfNumber(number: string): string | undefined {
  const code = callingCodeOf(number) ?? '';
  const countries = countriesByCode.get(code) ?? [];
  if (countries.length < 2) return countries[0];
  const national = number.slice(code.length + 1);
  return countries.find((country) => rangesOf(country).test(national)) ?? countries[0];
}

/** Matches the numbers of a country that shares its calling code: by their first digits if these suffice, otherwise by their kind. */
function rangesOf(country: string): RegExp {
  const known = ranges.get(country);
  if (known !== undefined) return known;
  const raw = rawByCountry.get(country) ?? [];
  const leading = text(raw[10]);
  const compiled =
    leading === null ? whole(KINDS.map((kind) => patternOf(raw, kind))) : new RegExp(`^(?:${leading})`);
  ranges.set(country, compiled);
  return compiled;
}

/** The kinds of numbers under a calling code. Under an unknown code, no number is of any kind. */
export function kindsOfCallingCode(code: string): NumberKinds {
  const known = kinds.get(code);
  if (known !== undefined) return known;
  const raws = rawsOf(code);
  const compiled: NumberKinds = {
    mobile: whole(raws.map((raw) => patternOf(raw, mobileKind(raw)))),
    barred: whole(raws.flatMap((raw) => BARRED.map((kind) => patternOf(raw, kind)))),
    other: whole(raws.flatMap((raw) => OTHER.map((kind) => patternOf(raw, kind)))),
    mobileLengths: ascending(raws.flatMap(mobileLengths)),
  };
  kinds.set(code, compiled);
  return compiled;
}

/** The main country of a calling code comes first. */
function rawsOf(code: string): readonly Raw[] {
  const ofCountries = (countriesByCode.get(code) ?? []).map((country) => rawByCountry.get(country));
  return [...ofCountries, rawNonGeographic.get(code)].filter((raw) => raw !== undefined);
}

function planOf(key: string, find: () => Raw | undefined): NumberingPlan | undefined {
  if (!plans.has(key)) {
    const raw = find();
    plans.set(key, raw === undefined ? undefined : compile(raw));
  }
  return plans.get(key);
}

function compile(raw: Raw): NumberingPlan {
  const international = text(raw[1]);
  const national = text(raw[7]) ?? text(raw[5]);
  return {
    callingCode: text(raw[0]) ?? '',
    internationalPrefix: international === null ? null : new RegExp(`^(?:${international})`),
    general: whole([text(raw[2]) ?? '']),
    lengths: numbers(raw[3]),
    nationalPrefix: national === null ? null : new RegExp(`^(?:${national})`),
  };
}

function kindOf(raw: Raw, kind: number): Raw | null {
  const all = raw[11];
  const one: unknown = Array.isArray(all) ? all[kind] : null;
  return Array.isArray(one) ? one : null;
}

function patternOf(raw: Raw, kind: number): string {
  return text(kindOf(raw, kind)?.[0]) ?? '';
}

/** In a country without mobile ranges of their own, such as the US, the fixed ranges contain the mobile numbers. */
function mobileKind(raw: Raw): number {
  return patternOf(raw, MOBILE) === '' ? FIXED : MOBILE;
}

/** A kind without lengths of its own has the lengths of the whole plan. */
function mobileLengths(raw: Raw): readonly number[] {
  const lengths = numbers(kindOf(raw, mobileKind(raw))?.[1]);
  return lengths.length > 0 ? lengths : numbers(raw[3]);
}

/** Combines several patterns into one for the whole text. Empty patterns match nothing. */
function whole(patterns: readonly string[]): RegExp {
  const some = patterns.filter((pattern) => pattern !== '');
  return some.length === 0 ? NOTHING : new RegExp(`^(?:${some.join('|')})$`);
}

function ascending(lengths: readonly number[]): readonly number[] {
  return [...new Set(lengths)].sort((a, b) => a - b);
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function numbers(value: unknown): readonly number[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'number') : [];
}
