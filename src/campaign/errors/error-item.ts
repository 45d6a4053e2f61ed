import { z } from 'zod';
import { ERROR_CODES, type ErrorCode, type ErrorItem } from './error-codes.js';
import { asSentence } from './errors.js';

/** The code of an error. */
export const errorCode: z.ZodType<ErrorCode> = z
  .enum(Object.keys(ERROR_CODES) as [ErrorCode])
  .describe('Stable, for programs');

/** See {@link ErrorItem}. */
export const errorItem: z.ZodType<ErrorItem> = z
  .object({
    code: errorCode,
    pointer: z
      .string()
      .nullable()
      .describe(
        'A JSON pointer into the body (RFC 6901), or `query/…`, `header/…`, or `path/…`. For a row of a CSV: `/recipients`; for a row that an earlier campaign gave: `/toResultsOf`; for one of many messages: into the message. Null if it is about no part',
      ),
    message: z.string().describe('What is wrong with it, in a sentence'),
    line: z
      .int()
      .nullable()
      .describe(
        'In a CSV or NDJSON: the line. In an array: the position, from 1. Null if it is about no row',
      ),
    column: z
      .string()
      .nullable()
      .describe('The column or the member of the row; null if it is about the whole row, or about none'),
  })
  .readonly()
  .meta({ id: 'ErrorItem' });
/** What a list is: a CSV, an array, or the results of an earlier campaign. */
export type ListKind = 'csv' | 'array' | 'results';

/** Where in a list a row is, of the members that a row of an array has. */
type Place = Pick<ErrorItem, 'code' | 'column'> & { readonly line: number; readonly list: ListKind };

/** What is wrong with a row of a list of recipients. `reason` is a sentence, or continues its place: `is empty, but …`. */
export function rowError({ code, line, column, list }: Place, reason: string) {
  // A pointer can name an item of an array. Otherwise the line is the place.
  const member = column === null ? '' : `/${pointerStep(column)}`;
  const pointer =
    list === 'array' ? `/recipients/${line - 1}${member}` : list === 'csv' ? '/recipients' : '/toResultsOf';
  return { code, pointer, message: sentenceOfReason(reason), line, column };
}

/** What is wrong with a row, in a sentence of its own. */
export const sentenceOfReason = (reason: string): string =>
  asSentence(/^[a-z]/.test(reason) ? `It ${reason}` : reason);

/** A name in a JSON pointer (RFC 6901). */
export const pointerStep = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * What is wrong with a row and its place in one text for people: `line 12, column "phone" is empty`, `line 16 has 4 fields, …`, or
 * `line 3, column "phone": "abc" is not a phone number`. Without a full stop.
 */
export function rowProblem({
  line,
  column,
  message,
}: Pick<ErrorItem, 'line' | 'column' | 'message'>): string {
  const place = `line ${line}${column === null ? '' : `, column ${JSON.stringify(column)}`}`;
  const reason = message.replace(/\.$/, '');
  if (reason.startsWith('It ')) return `${place}${reason.slice(2)}`;
  return reason.startsWith('`') ? `${place} ${reason}` : `${place}: ${reason}`;
}
