import type { InvalidCode } from '../../campaign/views/list-views.js';
import type { StoredRecipient } from './slice-blob.js';

/*
 * The rows of a list that became no recipient. No count of the campaign includes them, but its report and its results do, so that each
 * row of a list can be found there.
 */

/** What every row that was left out has. */
interface LeftOut {
  readonly line: number;
  /** E.164 with its plus; of a row without a valid number what the list has in its place, shortened. */
  readonly number: string;
  /** Empty if it has none. */
  readonly reference: string;
}

/** A row whose number is that of an earlier row, or gets the text from an earlier campaign. */
export interface DuplicateRow extends LeftOut {
  readonly kind: 'duplicate';
  /** The line of the row whose number it repeats; null if an earlier campaign sends the text to its number. */
  readonly firstLine: number | null;
  /** Whether it repeats the text as well. */
  readonly isSameText: boolean;
}

/** A row that cannot be sent to. Nothing else of it is stored. */
export interface InvalidLeftOut extends LeftOut {
  readonly kind: 'invalid';
  readonly code: InvalidCode;
  /** The position of the column at fault; `reference` for that member, which is no column; null if the whole row is. */
  readonly column: number | 'reference' | null;
}

/** See {@link DuplicateRow} and {@link InvalidLeftOut}. */
export type LeftOutRow = DuplicateRow | InvalidLeftOut;

/**
 * Rows of each kind that a campaign stores; the rest are only counted. An invalid row takes up to 200 bytes if its number and its
 * reference are random and as long as possible, usually 10.
 */
const MAX_STORED = 100_000;

/** How many rows a campaign stores, by how many were left out. */
export function storedLeftOut({ duplicates, invalid }: Counts): number {
  return Math.min(duplicates, MAX_STORED) + Math.min(invalid, MAX_STORED);
}

interface Counts {
  readonly duplicates: number;
  readonly invalid: number;
}

/** Says of each row in turn whether it is stored: those of one kind never take the room of the other. */
export function leftOutLimit(): (row: LeftOutRow) => boolean {
  const seen = { duplicate: 0, invalid: 0 };
  return ({ kind }) => {
    seen[kind] += 1;
    return seen[kind] <= MAX_STORED;
  };
}

const E164 = /^\+\d{1,15}$/;
const SAME = 's';
const DIFFERENT = 'd';
const SENT_BEFORE = 'c';
const REFERENCE = 'reference';

/**
 * The form in which slices store a row: its number, or 0 and the text in its place; and four values, of which a duplicate uses three.
 */
export function storedRow(row: LeftOutRow): StoredRecipient {
  const { number, line, reference } = row;
  if (row.kind === 'duplicate') {
    const { firstLine, isSameText } = row;
    const [text, distance] =
      firstLine === null ? [SENT_BEFORE, 0] : [isSameText ? SAME : DIFFERENT, line - firstLine];
    return { number, values: [text, String(line), String(distance), ''], reference };
  }
  const values = [row.code, String(line), row.column === null ? '' : String(row.column)];
  return E164.test(number)
    ? { number, values: [...values, ''], reference }
    : { number: '0', values: [...values, number], reference };
}

/** Reads what {@link storedRow} made. */
export function readLeftOut({ number: digits, values, reference = '' }: StoredRecipient): LeftOutRow {
  // Of a row that was forgotten, or has no valid number, there is none.
  const number = digits === '+0' ? '' : digits;
  const [kind = '', line, detail = '', text = ''] = values;
  const own = { line: Number(line), reference };
  if (kind === SENT_BEFORE) return { kind: 'duplicate', ...own, number, firstLine: null, isSameText: true };
  if (kind === SAME || kind === DIFFERENT) {
    const firstLine = own.line - Number(detail);
    return { kind: 'duplicate', ...own, number, firstLine, isSameText: kind === SAME };
  }
  return {
    kind: 'invalid',
    ...own,
    number: number === '' ? text : number,
    code: kind as InvalidCode,
    column: detail === '' ? null : detail === REFERENCE ? REFERENCE : Number(detail),
  };
}
