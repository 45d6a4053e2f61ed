import { setImmediate as othersTurn } from 'node:timers/promises';
import { HALF_A_PAIR } from '../campaign/template.js';
import { ListError } from './list-error.js';
import type { Row, Rows } from './row.js';

/** A recipient as code hands it over: the number in `to`, and a value for each placeholder of the text. */
export interface RecipientInput {
  readonly to: string;
  /** Null is no value, as undefined is. */
  readonly [placeholder: string]: string | number | null | undefined;
}

const ROWS_IN_A_BATCH = 1000;

/**
 * Makes a list of objects. Its columns are the keys of the first one, `to` foremost: a text needs its values of every
 * recipient, so what the first does not have no text can use. A recipient's line is its place, from 1.
 * Numbers become text in decimal; what has no such form cannot stand in a text. An object without `to` is an invalid
 * row, not an error.
 */
export async function rowsOfObjects(
  recipients: Iterable<RecipientInput> | AsyncIterable<RecipientInput>,
): Promise<Rows> {
  const objects =
    Symbol.asyncIterator in recipients ? recipients[Symbol.asyncIterator]() : recipients[Symbol.iterator]();
  const first = await objects.next();
  if (first.done === true) throw new ListError('There are no recipients.');
  const columns = ['to', ...Object.keys(first.value).filter((key) => key !== 'to')];
  const close = (): void => void objects.return?.();
  return { columns, batches: batchesOf(first.value, objects, columns, close), close };
}

async function* batchesOf(
  first: RecipientInput,
  rest: Iterator<RecipientInput> | AsyncIterator<RecipientInput>,
  columns: readonly string[],
  close: () => void,
): AsyncGenerator<readonly Row[]> {
  let line = 1;
  let batch: Row[] = [rowOf(line, first, columns)];
  try {
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      line += 1;
      batch.push(rowOf(line, next.value, columns));
      if (batch.length === ROWS_IN_A_BATCH) {
        yield batch;
        batch = [];
        // Of rows that lie in memory none is waited for, and everybody else would wait for all of them.
        await othersTurn();
      }
    }
    if (batch.length > 0) yield batch;
  } finally {
    close();
  }
}

function rowOf(line: number, recipient: RecipientInput, columns: readonly string[]): Row {
  const unfit = new Map<number, string>();
  const fields = columns.map((column, place) => {
    // A column may be called as what every object inherits: `toString`.
    const value = Object.hasOwn(recipient, column) ? recipient[column] : undefined;
    const why = unfitness(value);
    if (why !== null) unfit.set(place, why);
    return String(value ?? '');
  });
  return { line, fields, fault: null, ...(unfit.size === 0 ? {} : { unfit }) };
}

/** Why a value would reach its owner as something else; null if it would not. */
function unfitness(value: string | number | null | undefined): string | null {
  if (typeof value === 'string') {
    return HALF_A_PAIR.test(value) ? 'holds half of a surrogate pair, which is no letter' : null;
  }
  // Of 12345678901234567890 a number keeps 12345678901234567000, and JSON has no other.
  if (typeof value !== 'number' || (Number.isSafeInteger(Math.trunc(value)) && !/e/.test(String(value)))) {
    return null;
  }
  return `is the number ${value}, which cannot be told digit by digit; give it as a text`;
}
