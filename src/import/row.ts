/** One row of a list. */
export interface Row {
  /** Physical line of the file where the row begins, the header's line counted; of an array, the place from 1. */
  readonly line: number;
  /** In the order of the columns, exactly as the file has them. */
  readonly fields: readonly string[];
  /** Why the row cannot be used; null if it has a field for every column. */
  readonly fault: string | null;
  /** Why a field cannot stand in a text, by its place; most rows have none such. */
  readonly unfit?: ReadonlyMap<number, string>;
}

/** A list of rows with named columns, in batches, so that a million rows do not cost a million promises. */
export interface Rows {
  readonly columns: readonly string[];
  /** Can be read once. Leaving the loop early closes the list. */
  readonly batches: AsyncIterable<readonly Row[]>;
  /** Lets go of a list whose batches will not be read. */
  close(): void;
}
