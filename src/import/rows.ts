import { InputError } from '../campaign/errors.js';

/** One row of a list. */
export interface Row {
  /** Line of the file where the row begins, the header being line 1; for an array, the position from 1. */
  readonly line: number;
  /** In the order of the columns, exactly as in the file. */
  readonly fields: readonly string[];
  /** Why the row as a whole cannot be used; null if it has one field per column. */
  readonly fault: string | null;
  /** Why a field cannot be put into a message, by the position of its column. Most rows have no such field. */
  readonly unusable?: ReadonlyMap<number, string>;
}

/** A list of rows with named columns. Rows come in batches, so that a million rows do not cost a million promises. */
export interface Rows {
  readonly columns: readonly string[];
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
