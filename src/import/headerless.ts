import type { Row, Rows } from './row.js';

/** Fewer digits may be a year or a house; as many are a number, whatever the country. */
const LEAST_DIGITS = 9;

/** Whether a name that a column is said to have is a phone number: then the first line is a row, and no header. */
export function isNumberLike(name: string): boolean {
  const text = name.trim();
  return /^[+(]?\d[\d\s()./-]*$/.test(text) && text.replace(/\D/g, '').length >= LEAST_DIGITS;
}

/** A list of numbers alone, its first line among them; any other list is what it was. */
export function numbersAlone(list: Rows): Rows {
  const [only] = list.columns;
  if (only === undefined || list.columns.length > 1 || !isNumberLike(only)) return list;
  return {
    columns: ['number'],
    batches: after({ line: 1, fields: [only], fault: null }, list),
    close: () => list.close(),
  };
}

async function* after(first: Row, { batches }: Rows): AsyncGenerator<readonly Row[]> {
  yield [first];
  yield* batches;
}
