import { z } from 'zod';
import type { ErrorCode, ErrorItem } from '../errors/error-codes.js';
import { errorItem } from '../errors/error-item.js';
import { count, textOrNull } from './measures.js';

/*
 * The public form of what is wrong with a list, or notable about it.
 */

/**
 * Why a row is invalid, for programs: a number in national format without a country, a number that is missing or invalid, a country that
 * does not exist, a time zone that is missing or does not exist although it is needed, a column that is empty or unusable although the message uses it, a time that is missing or unusable, a number or a
 * length that the limits of the API key or the lane do not allow, or anything else about the whole row.
 */
export const INVALID_CODES = [
  'noCountry',
  'noNumber',
  'invalidNumber',
  'invalidCountry',
  'noZone',
  'invalidZone',
  'noValue',
  'invalidValue',
  'notAllowed',
  'row',
] as const satisfies readonly ErrorCode[];
/** See {@link INVALID_CODES}. */
export type InvalidCode = (typeof INVALID_CODES)[number];

/** The codes for which every row has the same reason, so that listing a few rows is enough. */
export const UNIFORM_CODES: readonly InvalidCode[] = ['noCountry', 'noNumber', 'noValue'];

/** What the codes mean. */
export const INVALID_CODE =
  '`noCountry`: the number is in national format, and no country is known; `noNumber`, `invalidNumber`; `invalidCountry`: the number is in national format, and the country of its row is unknown; `noZone`, `invalidZone`: the window or the time is in the zone of each recipient, and that is missing, unknown, or never open; `noValue`, `invalidValue`: a column that the message uses, or that of the times, is empty or unusable; `notAllowed`: a limit of the API key or the lane refuses the number or the length of the message; `row`: the whole row';
/** See {@link INVALID_CODES}. */
export const invalidCode = z.enum(INVALID_CODES);

/** An invalid row of a list. */
export interface InvalidRow extends ErrorItem {
  readonly code: InvalidCode;
  readonly line: number;
  /** Its values, in the order of the columns. */
  readonly row: readonly string[];
  /** Its row in a spreadsheet, if that is not its line. */
  readonly rowNumber?: number | undefined;
}

/** A row of a list with the number of an earlier row. */
export interface RepeatedRow {
  /** In a CSV: the line of the file. In an array: the position, from 1. */
  readonly line: number;
  /** The line of the row whose number it repeats. */
  readonly firstLine: number;
  /** E.164. */
  readonly to: string;
  /** Its text, compared with that of the row that it repeats. */
  readonly text: 'same' | 'different';
}

/** See {@link RepeatedRow}. */
export const repeatedRow = z
  .object({
    line: z.int().describe('In a CSV: the line of the file. In an array: the position, from 1.'),
    firstLine: z.int().describe('The line of the row whose number it repeats'),
    to: z.string().describe('E.164'),
    text: z.enum(['same', 'different']).describe('Its text, compared with that of the row that it repeats'),
  })
  .readonly();
/** The numbers of a country. */
export interface NumbersOfCountry {
  /** ISO 3166; of those that share a calling code, the one whose range contains the number; null: a number of no country. */
  readonly country: string | null;
  /** Without its plus. */
  readonly callingCode: string;
  readonly numberCount: number;
}

/** The numbers of a list by country. */
export const numbersByCountry = z
  .array(
    z
      .object({
        country: textOrNull.describe(
          'ISO 3166; of those that share a calling code, the one whose range contains the number; null: a number of no country',
        ),
        callingCode: z.string().describe('Without its plus'),
        numberCount: count,
      })
      .readonly(),
  )
  .readonly();
/** How many rows have the number of an earlier row and a different text. */
export const differentTexts = count.describe(
  'Rows with the number of an earlier row and a different text. With `duplicates: keep` they are recipients; otherwise they count as duplicates.',
);

/** Which rows have the number of an earlier row. */
export const repeats = z
  .array(repeatedRow)
  .readonly()
  .describe(
    'Rows with the number of an earlier row, by line: the first 20 with the same text, and the first 20 with a different text',
  );

/** Invalid rows with the same code. */
export interface InvalidGroup {
  readonly code: InvalidCode;
  /** Null if the whole rows are invalid. */
  readonly column: string | null;
  readonly count: number;
  /** The lines of the first three. */
  readonly lines: readonly number[];
  /** What is wrong with each of these. */
  readonly examples: readonly ErrorItem[];
  /** For `noCountry`: the country (ISO 3166) in which most of these numbers are valid, if one is likely. */
  readonly country: string | null;
  /** For `noCountry`: a column that contains countries and is not used, if there is one. */
  readonly countryColumn: string | null;
}

/** See {@link InvalidGroup}. */
export const invalidGroup = z
  .object({
    code: invalidCode.describe(INVALID_CODE),
    column: textOrNull.describe('Null if the whole rows are invalid'),
    count,
    lines: z.array(z.int()).readonly().describe('The lines of the first three'),
    examples: z.array(errorItem).readonly().describe('What is wrong with each of these'),
    country: textOrNull.describe(
      'For `noCountry`: the country (ISO 3166) in which most of these numbers are valid, if one is likely',
    ),
    countryColumn: textOrNull.describe(
      'For `noCountry`: a column that contains countries and is not used, if there is one',
    ),
  })
  .readonly();
/** An invalid row of a list, for a page that marks its cell. */
export interface ListProblem {
  readonly code: InvalidCode;
  readonly line: number;
  /** In a CSV: the row of a spreadsheet, in which a field may have several lines. */
  readonly row: number;
  /** Null if the whole row is invalid. */
  readonly column: string | null;
  /** The beginning of what the column has; null without a column. */
  readonly value: string | null;
  /** Of the row, in the order of the columns; null after a million characters of such values. */
  readonly values: readonly string[] | null;
  /** What is wrong with it, in a sentence. */
  readonly message: string;
}

/** See {@link ListProblem}. */
export const listProblem = z
  .object({
    code: invalidCode.describe(INVALID_CODE),
    line: z.int().describe('In a CSV: the line of the file. In an array: the position, from 1.'),
    row: z.int().describe('In a CSV: the row of a spreadsheet, in which a field may have several lines'),
    column: textOrNull.describe('Null if the whole row is invalid'),
    value: textOrNull.describe('The beginning of what the column has; null without a column'),
    values: z
      .array(z.string())
      .readonly()
      .nullable()
      .describe('Of the row, in the order of the columns; null after a million characters of such values'),
    message: z.string().describe('What is wrong with it, in a sentence'),
  })
  .readonly();
