import type { StoredRecipient } from './slice-blob.js';

/** A row of a list that was left out, because its number is that of an earlier row. */
export interface DuplicateRow {
  /** E.164 with its plus. */
  readonly number: string;
  readonly line: number;
  /** The line of the row whose number it repeats. */
  readonly firstLine: number;
  /** Whether it repeats the text as well. */
  readonly isSameText: boolean;
  readonly reference?: string | undefined;
}

/** Duplicates that a campaign stores, about a megabyte; the rest are only counted. */
export const MAX_STORED_DUPLICATES = 100_000;

/** The form in which slices store a duplicate. */
export function storedDuplicate({
  number,
  line,
  firstLine,
  isSameText,
  reference,
}: DuplicateRow): StoredRecipient {
  return { number, values: [String(line), String(line - firstLine), isSameText ? 's' : 'd'], reference };
}

/** Reads what {@link storedDuplicate} made. */
export function readDuplicate({ number, values, reference }: StoredRecipient): DuplicateRow {
  const [line, distance, text] = values;
  return {
    number,
    line: Number(line),
    firstLine: Number(line) - Number(distance),
    isSameText: text === 's',
    reference,
  };
}
