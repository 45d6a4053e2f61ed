import { InputError } from '../../campaign/errors.js';

/** One row of a list. */
export interface Row {
  /** Line of the file where the row begins, the header being line 1; for an array, the position from 1. */
  readonly line: number;
  /** Its row in a spreadsheet, if that is not its line: a field before it has line breaks. */
  readonly row?: number | undefined;
  /** In the order of the columns, exactly as in the file. */
  readonly fields: readonly string[];
  /** Why the row as a whole cannot be used; null if it has one field per column. */
  readonly fault: string | null;
  /** The reference of the recipient, if it is not in a column. */
  readonly reference?: string | undefined;
  /** Why a field cannot be put into a message, by the position of its column. Most rows have no such field. */
  readonly unusable?: ReadonlyMap<number, string>;
}

/** Rows in a batch at most: a million rows do not cost a million promises. */
export const ROWS_PER_BATCH = 1_000;
/** A batch ends with the row that reaches this size, so that long rows do not fill the memory. */
export const BATCH_BYTES = 256 * 1024;
/** A message has a few hundred characters; the longest that a field can usefully contribute is far below this. */
export const MAX_FIELD_LENGTH = 5_000;

/** About how much memory a row takes. */
export function rowBytes(fields: readonly string[]): number {
  let bytes = fields.length * 8;
  for (const field of fields) bytes += field.length;
  return bytes;
}

/** Why a field is too long; continues its line and column. */
export function tooLong(field: string): string {
  return `has ${field.length} characters; the maximum is ${MAX_FIELD_LENGTH}`;
}

/** A list of rows with named columns. Rows come in batches. */
export interface Rows {
  readonly columns: readonly string[];
  /** The column with the phone numbers, if the kind of list says which it is. */
  readonly numberColumn?: string | undefined;
  /** Why it has no other columns, if the producer did not choose them. */
  readonly lacksBecause?: string | undefined;
  /** Can be read once. Leaving the loop early closes the list. */
  readonly batches: AsyncGenerator<readonly Row[]>;
  /** Closes a list whose batches will not be read. */
  close(): void;
}

/** The file or array is not a usable list. The message says what is wrong, where, and how to fix it. */
export class ListError extends InputError {
  override readonly name = 'ListError';

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { ...options, field: 'recipients' });
  }
}

/**
 * Maps the rows of batches, the first of which has been read already. Closes the list at its end, and when the loop is left
 * early.
 */
export async function* mapRows<Result>(
  first: readonly Row[],
  rest: AsyncIterable<readonly Row[]>,
  map: (row: Row) => Result,
  close: () => void,
): AsyncGenerator<readonly Result[]> {
  try {
    if (first.length > 0) yield first.map(map);
    for await (const batch of rest) yield batch.map(map);
  } finally {
    close();
  }
}
