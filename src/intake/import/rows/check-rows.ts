import { type ListKind, rowError } from '../../../campaign/errors/error-item.js';
import { MAX_TEXT_LENGTH } from '../../../campaign/fields/fields.js';
import { type Limits, NO_LIMITS, refusedText } from '../../../campaign/limits/check-limits.js';
import { type NumberKinds, type NumberReader, numberReader } from '../../../campaign/numbers/number.js';
import { subscriberOf } from '../../../campaign/numbers/number-forms.js';
import { notText } from '../../../campaign/text/lone-surrogate.js';
import type { Template } from '../../../campaign/text/template.js';
import type { InvalidCode, InvalidRow } from '../../../campaign/views/list-views.js';
import { countryColumn, withCountryAdvice } from './country-column.js';
import { numberColumn } from './number-column.js';
import { numberCountries } from './number-countries.js';
import { columnNamed, mapRows, type Row, type Rows } from './rows.js';
import { SeenRecipients } from './seen-recipients.js';
import { spannedRows } from './spanned-rows.js';
import { type TimeOptions, timeReader } from './time-column.js';
import { type ZoneOptions, zoneReader } from './zone-column.js';

/** What to do with a row that has the number of an earlier row and a different text. */
export type Duplicates = 'first' | 'keep' | 'refuse';

/** The column, or member, with the recipients' references. */
const REFERENCE = 'reference';
const MAX_REFERENCE_BYTES = 128;
const CONTROL_CHARACTER = /\p{Cc}/u;
/** Characters of an invalid number that are kept: enough to recognize it, and no more of a row whose fields are shifted. */
const MAX_INVALID_NUMBER = 64;

/** Why a text is no reference; continues its line and column. Null if it is one. */
function referenceProblem(reference: string): string | null {
  if (reference === '') return null;
  const bytes = Buffer.byteLength(reference);
  if (bytes > MAX_REFERENCE_BYTES) return `has ${bytes} bytes; the maximum is ${MAX_REFERENCE_BYTES}`;
  const isControlled = CONTROL_CHARACTER.test(reference);
  return isControlled ? 'contains a control character, such as a line break' : notText(reference);
}

/** The result of checking one row. */
export type CheckedRow =
  | {
      readonly kind: 'recipient';
      readonly line: number;
      /** E.164 with its plus. */
      readonly number: string;
      /** In the order of the columns, exactly as in the list. */
      readonly values: readonly string[];
      /** Empty if it has none. */
      readonly reference: string;
      /** Set if the number is known to be a landline, premium rate, shared cost, or voicemail number. */
      readonly isNotMobile?: true | undefined;
      /** The name of its part, if the window is in the zone of each recipient, or the list has times. */
      readonly part?: string | undefined;
      /** The line of the first row with this number; undefined if this is the first one. The texts differ. */
      readonly firstLine?: number | undefined;
    }
  | {
      /** A row that is left out, because its number is that of an earlier recipient, or gets the text from an earlier campaign. */
      readonly kind: 'duplicate';
      readonly line: number;
      readonly number: string;
      /** The line of the recipient whose number it repeats; null if an earlier campaign sends the text to its number. */
      readonly firstLine: number | null;
      /** Whether it repeats the text as well. */
      readonly isSameText: boolean;
      readonly reference: string;
    }
  | {
      readonly kind: 'invalid';
      readonly line: number;
      /** The column at fault; null if the row as a whole is. */
      readonly column: string | null;
      readonly code: InvalidCode;
      /** Says what is wrong and what would be right; continues `line 7, column "phone": `. */
      readonly reason: string;
      readonly row: readonly string[];
      /** Its row in a spreadsheet, if that is not its line. */
      readonly rowNumber?: number | undefined;
      /** E.164 with its plus; if the number is not valid, the beginning of what the list has in its place. */
      readonly number: string;
      /** Empty if it has none, or one that cannot be used. */
      readonly reference: string;
    };

type Invalid = CheckedRow & { readonly kind: 'invalid' };
type UnreadNumber = Extract<ReturnType<NumberReader>, { ok: false }>;
/** What is wrong with a row. */
type Problem = Pick<Invalid, 'code' | 'column' | 'reason'>;

/** An invalid row as callers see it. `list`: what it is a row of. */
export function invalidRowOf(invalid: Invalid, list: ListKind): InvalidRow {
  const { code, line, column, reason, row, rowNumber } = invalid;
  return { ...rowError({ code, line, column, list }, reason), code, line, row, rowNumber };
}

/** Counts of the rows checked so far. `rows` is always the sum of the next three. */
interface RowCounts {
  readonly rows: number;
  readonly recipientCount: number;
  readonly duplicates: number;
  readonly invalid: number;
  /** Rows with the number of an earlier row and a different text: with `keep`, some of the recipients; else, of the duplicates. */
  readonly differentTexts: number;
}

/** A list that is being checked. */
export interface CheckedRows {
  readonly columns: readonly string[];
  /** The name of the column with the phone numbers. */
  readonly numberColumn: string;
  /** The name of the column with the country of each row; null if none is used. */
  readonly countryColumn: string | null;
  /** The name of a column that contains countries and is not used; null if there is none. */
  readonly unusedCountryColumn: string | null;
  /** The countries of the recipients read so far. */
  readonly countries: Pick<ReturnType<typeof numberCountries>, 'counts'>;
  readonly sheet: string | null;
  readonly sheets: readonly string[];
  /** Which rows read so far look doubtful, in sentences for people. */
  warnings(): string[];
  /** Can be read once, in the order of the list. */
  readonly batches: AsyncIterable<readonly CheckedRow[]>;
  /** Covers the batches read so far. */
  counts(): RowCounts;
  /** The memory that detecting duplicates takes now. */
  bytes(): number;
  /** Whether a valid row that was read so far has this number. */
  has(number: string): boolean;
}

/** How to check a list. */
export interface CheckOptions {
  /** The column with the phone numbers; default: found by its name or its values. */
  readonly toColumn?: string | undefined;
  /** The column with the country of each nationally written number; default: found by its name and its values if `findsCountries`. */
  readonly countryColumn?: string | undefined;
  /** Whether a column with countries is used without being named; default: it is. */
  readonly findsCountries?: boolean | undefined;
  /** ISO 3166 code of nationally written numbers in rows without a country. Without it they are invalid. */
  readonly defaultCountry?: string | undefined;
  /** Default: `any`. */
  readonly numberKinds?: NumberKinds | undefined;
  /** The message, compiled for the columns of this list: a row without a value that it needs is invalid. */
  readonly template?: Template | undefined;
  /** With `keep`, a row with the number of an earlier row and a different text is a recipient; default: it is a duplicate. */
  readonly duplicates?: Duplicates | undefined;
  /** If the window is in the zone of each recipient: a row without a zone is invalid. */
  readonly zones?: ZoneOptions | undefined;
  /** How the times of the rows are read, if there are any; default: they are not. */
  readonly times?: TimeOptions | undefined;
  /** What numbers and messages may be; default: anything. */
  readonly limits?: Limits | undefined;
}

/**
 * Checks a list row by row: its number, its duplicates, and the values that the message needs. Every row results in exactly
 * one {@link CheckedRow}. An invalid row does not hide a later valid row with the same number. Memory does not grow with the
 * list, except for 17 to 31 bytes per recipient that detect duplicates.
 * Throws a ListError if the column with the phone numbers, or with the countries, is not clear, and an InputError for an unknown country.
 */
export async function checkRows(list: Rows, options: CheckOptions = {}): Promise<CheckedRows> {
  try {
    const readNumber = numberReader(options.defaultCountry, options.numberKinds);
    // Among the numbers of any kind would also be ids.
    const readMobile = numberReader(options.defaultCountry, 'mobile');
    const first = await list.batches.next();
    const rows = first.done === true ? [] : first.value;
    const country = countryColumn(list.columns, rows, {
      wanted: options.countryColumn,
      isDetected: options.findsCountries !== false,
    });
    // Those of a column that is not used only make numbers doubtful.
    const usedColumn = country?.isUsed === true ? country : null;
    const position = numberColumn(
      list.columns,
      rows,
      readMobile,
      options.toColumn ?? list.numberColumn,
      usedColumn?.countryOf,
    );
    const countries = numberCountries(options.defaultCountry, country);
    const { template, duplicates, limits = NO_LIMITS } = options;
    const referencePosition = columnNamed(list.columns, REFERENCE);
    const used = template?.placeholders.map((name) => list.columns.indexOf(name)) ?? [];
    const zoneOf = options.zones && zoneReader(list.columns, options.zones);
    const timeOf = options.times && timeReader(list.columns, options.times);
    const hasDigests = used.length > 0;
    const seen = new SeenRecipients({ hasDigests });
    const keepsTexts = duplicates === 'keep';
    const counts = { recipient: 0, duplicate: 0, invalid: 0, differentTexts: 0 };
    const referenceOf = ({ fields, reference: own = '' }: Row): string =>
      (referencePosition === -1 ? own : (fields[referencePosition] ?? '')).trim();
    const problemOfReference = (row: Row): string | null =>
      referenceProblem(referenceOf(row)) ?? row.unusable?.get(referencePosition) ?? null;
    const toColumn = list.columns[position] ?? null;

    const problemOfNumber = (row: Row, { code: cause, reason }: UnreadNumber): Problem => {
      const code = cause ?? 'invalidNumber';
      const isUnnamed = code === 'noNumber' && toColumn === 'to';
      const other = isUnnamed && list.columns.find((_, at) => readMobile(row.fields[at] ?? '').ok);
      const noText = row.unusable?.get(position);
      const why = noText ?? (other ? `is missing, but \`${other}\` has a number; name it \`to\`` : reason);
      if (code !== 'noCountry' || country === null) return { code, column: toColumn, reason: why };
      return usedColumn?.countryOf(row) === null
        ? { code: 'invalidCountry', column: country.name, reason: country.problemOf(row) }
        : { code, column: toColumn, reason: withCountryAdvice(reason, country) };
    };
    /** What is wrong with a row whose number could be read; null if nothing is. */
    const problemOf = (row: Row, number: string): Problem | null => {
      const { fields, unusable } = row;
      const foreign = limits.refusal('number', number);
      if (foreign !== null) return { code: 'notAllowed', column: toColumn, reason: foreign.reason };
      const missing = template?.missing(fields) ?? null;
      if (missing !== null)
        return {
          code: 'noValue',
          column: missing,
          reason: `is empty, but the message uses {{${missing}}}`,
        };
      for (const at of used) {
        const reason = unusable?.get(at) ?? notText(fields[at] ?? '');
        if (reason !== null) return { code: 'invalidValue', column: list.columns[at] ?? null, reason };
      }
      const reference = problemOfReference(row);
      if (reference !== null)
        return {
          code: 'invalidValue',
          column: list.columns[referencePosition] ?? REFERENCE,
          reason: reference,
        };
      // A message without placeholders has been checked already.
      if (!hasDigests || template === undefined) return null;
      const length = template.length(fields);
      if (length > MAX_TEXT_LENGTH) {
        const reason = `gets a text of ${length} characters; the maximum is ${MAX_TEXT_LENGTH}`;
        return { code: 'row', column: null, reason };
      }
      const long = refusedText(limits, () => template.render(fields));
      return long === null ? null : { code: 'notAllowed', column: null, reason: long.reason };
    };
    const invalid = (row: Row, { code, column, reason }: Problem, number: string | null): Invalid => {
      const { line, fields, fault } = row;
      // The fields of a row that cannot be read may be shifted, and another one would pass for the reference.
      const isShifted = fault !== null && referencePosition !== -1;
      return {
        kind: 'invalid',
        line,
        code,
        column,
        reason,
        row: fields,
        rowNumber: row.row,
        number: number ?? (fields[position] ?? '').trim().slice(0, MAX_INVALID_NUMBER),
        reference: isShifted || problemOfReference(row) !== null ? '' : referenceOf(row),
      };
    };
    const spanned = spannedRows(readMobile, position);
    const checkRow = (row: Row): CheckedRow => {
      const { line, fields, fault } = row;
      const readIn = usedColumn?.countryOf(row);
      const outcome = readNumber(fields[position] ?? '', readIn);
      const ofRow: Problem | null = fault === null ? null : { code: 'row', column: null, reason: fault };
      if (!outcome.ok) return invalid(row, ofRow ?? problemOfNumber(row, outcome), null);
      const { number, isNotMobile, isNational = false } = outcome;
      const read = zoneOf?.(row, number);
      const zone = read?.ok === true ? read.zone : undefined;
      const problem = ofRow ?? problemOf(row, number) ?? (read?.ok === false ? read : null);
      const timed = problem === null ? timeOf?.(row, zone) : undefined;
      if (problem !== null) return invalid(row, problem, number);
      if (timed?.ok === false) return invalid(row, timed, number);
      const part = timed?.part ?? zone;
      const reference = referenceOf(row);
      const digest = hasDigests ? (template?.digest(fields) ?? 0) : 0;
      const earlier = seen.add(subscriberOf(number), line, digest, { keepsTexts });
      if (earlier === null) {
        const named = usedColumn === null ? country?.countryOf(row) : readIn;
        countries.add({ line, number, isNational, country: named });
        return { kind: 'recipient', line, number, values: fields, reference, isNotMobile, part };
      }
      const { line: firstLine, isSameText } = earlier;
      if (!isSameText) counts.differentTexts += 1;
      return isSameText || !keepsTexts
        ? { kind: 'duplicate', line, number, firstLine, isSameText, reference }
        : { kind: 'recipient', line, number, values: fields, reference, isNotMobile, firstLine, part };
    };
    const check = (row: Row): CheckedRow => {
      spanned.add(row);
      const checked = checkRow(row);
      counts[checked.kind] += 1;
      return checked;
    };
    return {
      columns: list.columns,
      numberColumn: list.columns[position] ?? '',
      countryColumn: usedColumn?.name ?? null,
      unusedCountryColumn: country === usedColumn ? null : (country?.name ?? null),
      countries,
      sheet: list.sheet ?? null,
      sheets: list.sheets ?? [],
      warnings: () => [...(list.warnings ?? []), ...spanned.warnings(), ...countries.warnings()],
      batches: mapRows(rows, list.batches, check, () => list.close()),
      counts: () => ({
        rows: counts.recipient + counts.duplicate + counts.invalid,
        recipientCount: counts.recipient,
        duplicates: counts.duplicate,
        invalid: counts.invalid,
        differentTexts: counts.differentTexts,
      }),
      bytes: () => seen.bytes,
      has: (number) => seen.has(number),
    };
  } catch (error) {
    list.close();
    throw error;
  }
}
