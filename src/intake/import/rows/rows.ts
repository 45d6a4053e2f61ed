import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { ErrorItem } from '../../../campaign/errors/error-codes.js';
import { InputError } from '../../../campaign/errors/errors.js';
import { namesMeant } from '../../../campaign/errors/nearest.js';

/** One row of a list. */
export interface Row {
  /** Line of the file where the row begins, the header being line 1; for an array, the position from 1. */
  readonly line: number;
  /** Its row in a spreadsheet, if that is not its line: a field before it has line breaks. */
  readonly row?: number | undefined;
  /** In the order of the columns, exactly as in the file. */
  readonly fields: readonly string[];
  /** If a field has line breaks: the fields of each line of the row, as if it were a row of its own. */
  readonly lines?: readonly (readonly string[])[] | undefined;
  /** Why the row as a whole cannot be used; null if it has one field per column. */
  readonly fault: string | null;
  /** Members with a value that are no columns, because the first recipient lacks them. */
  readonly late?: readonly string[] | undefined;
  /** The reference of the recipient, if it is not in a column. */
  readonly reference?: string | undefined;
  /** Why a field cannot be used, by the position of its column; {@link NO_COLUMN}: `reference`. Most rows have no such field. */
  readonly unusable?: ReadonlyMap<number, string>;
}

/** The position of a column that a list does not have. */
export const NO_COLUMN = -1;

/** Rows in a batch at most: a million rows do not cost a million promises. */
const ROWS_PER_BATCH = 1_000;
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

const oneAtATime = pLimit(1);
/** Resolves in a turn of the event loop that no other list uses. */
const listTurn = (): Promise<void> => oneAtATime(() => nextTurn());

/**
 * Puts rows that arrive in any portions into batches. In each turn of the event loop, one of the lists that a process reads at the same time
 * continues: however many there are, other requests wait for a batch of one list, not of all.
 */
export async function* inRowBatches<Item extends Pick<Row, 'fields'>>(
  portions: AsyncIterable<readonly Item[]>,
): AsyncGenerator<readonly Item[]> {
  let batch: Item[] = [];
  let bytes = 0;
  for await (const portion of portions) {
    for (const item of portion) {
      batch.push(item);
      bytes += rowBytes(item.fields);
      if (batch.length < ROWS_PER_BATCH && bytes < BATCH_BYTES) continue;
      await listTurn();
      yield batch;
      batch = [];
      bytes = 0;
    }
  }
  // Most lists of a platform have one recipient.
  if (batch.length > 1) await listTurn();
  if (batch.length > 0) yield batch;
}

/** Why a field is too long; continues its line and column. */
export function tooLong(field: string): string {
  return `has ${field.length} characters; the maximum is ${MAX_FIELD_LENGTH}`;
}

/** A list of rows with named columns. Rows come in batches. */
export interface Rows {
  /** Each once: see {@link repeatedName}. */
  readonly columns: readonly string[];
  /** The column with the phone numbers, if the kind of list says which it is. */
  readonly numberColumn?: string | undefined;
  /** Of a workbook: the sheet that is read, and all that could be. */
  readonly sheet?: string | undefined;
  readonly sheets?: readonly string[] | undefined;
  /** What may not be as the producer sees it in a spreadsheet, in sentences for people. */
  readonly warnings?: readonly string[] | undefined;
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
  readonly #line: number | null;

  /** `line`: the line that the message is about. */
  constructor(
    message: string,
    { line = null, ...options }: ErrorOptions & { readonly line?: number | null } = {},
  ) {
    super(message, { ...options, field: 'recipients' });
    this.#line = line;
  }

  override get errors(): readonly ErrorItem[] {
    return super.errors.map((error) => ({ ...error, line: this.#line }));
  }
}

const REPEATED_NAME = /^(?<name>.*) \(column \d+\)$/s;

/** The name of a column that others of a file have as well: `notes` for `notes (column 3)`. Undefined if no other has it. */
export function repeatedName(column: string): string | undefined {
  return REPEATED_NAME.exec(column)?.groups?.['name'];
}

/** The position of the column with this name, or else with the name in another case; -1: none. Throws a {@link ListError} if several have it. */
export function columnNamed(columns: readonly string[], name: string): number {
  if (columns.includes(name)) return columns.indexOf(name);
  const [only, another] = columns.filter((column) => namesMeant(repeatedName(column) ?? column, [name])[0]);
  if (another !== undefined)
    throw new ListError(
      `Several columns are named ${JSON.stringify(name)}. Keep one of them, and rename or delete the others.`,
    );
  return only === undefined ? -1 : columns.indexOf(only);
}

/**
 * Maps the rows of batches, the first of which has been read already. Closes the list at its end, and when the loop is left
 * early.
 */
export async function* mapRows<Item, Result>(
  first: readonly Item[],
  rest: AsyncIterable<readonly Item[]>,
  map: (row: Item) => Result,
  close: () => void,
): AsyncGenerator<readonly Result[]> {
  try {
    if (first.length > 0) yield first.map(map);
    for await (const batch of rest) yield batch.map(map);
  } finally {
    close();
  }
}
