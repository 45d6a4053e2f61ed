import { numberReader } from '../campaign/number.js';
import type { Template } from '../campaign/template.js';
import { numberColumn } from './number-column.js';
import { NumberSet } from './number-set.js';
import type { Row, Rows } from './row.js';

/** What became of one row. */
export type CheckedRow =
  | {
      readonly kind: 'recipient';
      readonly line: number;
      /** E.164 with its plus. */
      readonly number: string;
      /** In the order of the columns, as the list has them. */
      readonly values: readonly string[];
    }
  | {
      /** A later row with the number of an earlier recipient: the first one wins. */
      readonly kind: 'duplicate';
      readonly line: number;
      readonly number: string;
    }
  | {
      readonly kind: 'invalid';
      readonly line: number;
      /** Where the fault lies; null if it is the row's as a whole. */
      readonly column: string | null;
      /** Begins in lower case, to follow `line 7, column "phone": `. */
      readonly reason: string;
      readonly row: readonly string[];
    };

/** How many rows became what, so far: `rows` is the sum of the other three at every moment between batches. */
export interface RowCounts {
  readonly rows: number;
  readonly recipients: number;
  readonly duplicates: number;
  readonly invalid: number;
}

/** A list that is being checked. */
export interface CheckedRows {
  readonly columns: readonly string[];
  /** The name of the column that holds the numbers. */
  readonly numberColumn: string;
  /** Can be read once, in the order of the list. */
  readonly batches: AsyncIterable<readonly CheckedRow[]>;
  /** What the batches read so far hold. */
  counts(): RowCounts;
}

/** How to check a list. */
export interface CheckOptions {
  /** The column that holds the numbers; found by name and content if it is not given. */
  readonly toColumn?: string | undefined;
  /** Country of numbers that are written nationally, `GB`. Without it they are refused. */
  readonly defaultCountry?: string | undefined;
  /** The text: a row without a value that it needs is invalid. Compiled for this list's columns. */
  readonly template?: Template | undefined;
}

/**
 * Checks a list row by row: its number, its duplicates, and that it has what the text needs. Nothing is lost:
 * every row comes out as exactly one {@link CheckedRow}. An invalid row never stands in the way of a later good one
 * with the same number. Memory does not grow with the list, but for 11 to 21 bytes a recipient to know duplicates.
 * Throws a ListError if the number column cannot be told, a RangeError for a country that does not exist.
 */
export async function checkRows(list: Rows, options: CheckOptions = {}): Promise<CheckedRows> {
  const batches = list.batches[Symbol.asyncIterator]();
  try {
    const read = numberReader(options.defaultCountry);
    const first = await batches.next();
    const rows = first.done === true ? [] : first.value;
    const place = numberColumn(list.columns, rows, read, options.toColumn);
    const used = options.template?.placeholders.map((name) => list.columns.indexOf(name)) ?? [];
    const seen = new NumberSet();
    const tally = { recipient: 0, duplicate: 0, invalid: 0 };
    const check = (row: Row): CheckedRow => {
      const checked = checkRow(row);
      tally[checked.kind] += 1;
      return checked;
    };
    const checkRow = ({ line, fields, fault, unfit }: Row): CheckedRow => {
      if (fault !== null) return { kind: 'invalid', line, column: null, reason: fault, row: fields };
      const spelled = read(fields[place] ?? '');
      if (!spelled.ok) return invalid(line, list.columns[place], spelled.reason, fields);
      const missing = options.template?.missing(fields) ?? null;
      if (missing !== null)
        return invalid(line, missing, `is empty, but the text uses {{${missing}}}`, fields);
      const [bad] = unfit === undefined ? [] : used.filter((column) => unfit.has(column));
      if (bad !== undefined) return invalid(line, list.columns[bad], unfit?.get(bad) ?? '', fields);
      if (!seen.add(spelled.number)) return { kind: 'duplicate', line, number: spelled.number };
      return { kind: 'recipient', line, number: spelled.number, values: fields };
    };
    return {
      columns: list.columns,
      numberColumn: list.columns[place] ?? '',
      batches: checkedBatches(rows, batches, check, () => list.close()),
      counts: () => ({
        rows: tally.recipient + tally.duplicate + tally.invalid,
        recipients: tally.recipient,
        duplicates: tally.duplicate,
        invalid: tally.invalid,
      }),
    };
  } catch (error) {
    list.close();
    throw error;
  }
}

function invalid(
  line: number,
  column: string | undefined,
  reason: string,
  row: readonly string[],
): CheckedRow {
  return { kind: 'invalid', line, column: column ?? null, reason, row };
}

async function* checkedBatches(
  first: readonly Row[],
  rest: AsyncIterator<readonly Row[]>,
  check: (row: Row) => CheckedRow,
  close: () => void,
): AsyncGenerator<readonly CheckedRow[]> {
  try {
    if (first.length > 0) yield first.map(check);
    for (let next = await rest.next(); next.done !== true; next = await rest.next())
      yield next.value.map(check);
  } finally {
    close();
  }
}
