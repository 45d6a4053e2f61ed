import {
  BATCH_BYTES,
  inRowBatches,
  ListError,
  MAX_FIELD_LENGTH,
  mapRows,
  NO_COLUMN,
  type Row,
  type Rows,
  rowBytes,
  tooLong,
} from './rows/rows.js';

/** A million recipients do not cost a million promises. */
const ROWS_PER_PORTION = 100;

/**
 * A recipient passed by code: the number in `to`, and a value for each placeholder of the message. Declare your own recipients as a `type`:
 * TypeScript gives an `interface` no index signature.
 */
export interface RecipientInput {
  readonly to: string;
  /** Your own name for the message, such as the number of an order: the report and the results return it. At most 128 bytes. */
  readonly reference?: string | number | null | undefined;
  /** Null and undefined both mean that there is no value. */
  readonly [placeholder: string]: string | number | null | undefined;
}

/**
 * Makes a list of objects. Its columns are the keys of the first object, `to` first: a message needs its values from every
 * recipient, so it cannot use a key that the first object lacks. `members` are columns in any case. The line of a recipient is its position, from 1.
 * Numbers are written in decimal; a number without an exact decimal form cannot be used in a message. An object without
 * `to` is an invalid row, not an error.
 */
export async function rowsOfObjects(
  recipients: Iterable<RecipientInput> | AsyncIterable<RecipientInput>,
  members: readonly string[] = [],
): Promise<Rows> {
  const objects =
    Symbol.asyncIterator in recipients ? recipients[Symbol.asyncIterator]() : recipients[Symbol.iterator]();
  const first = await objects.next();
  if (first.done === true) throw new ListError('There are no recipients. Add at least one.');
  const columns = [...new Set(['to', ...Object.keys(membersOf(first.value)), ...members])];
  const close = (): void => void objects.return?.();
  const known = new Set([...columns, 'reference']);
  async function* rows(): AsyncGenerator<readonly Row[]> {
    let line = 0;
    let portion: Row[] = [];
    let bytes = 0;
    for (let next: typeof first = first; next.done !== true; ) {
      line += 1;
      const row = rowOf(line, next.value, columns, lateMembers(membersOf(next.value), known));
      portion.push(row);
      bytes += rowBytes(row.fields);
      if (portion.length === ROWS_PER_PORTION || bytes >= BATCH_BYTES) {
        yield portion;
        portion = [];
        bytes = 0;
      }
      const following = objects.next();
      // An array answers at once.
      next = 'then' in following ? await following : following;
    }
    yield portion;
  }
  return { columns, batches: mapRows([], inRowBatches(rows()), (row) => row, close), close };
}

/** Programs without types may pass anything, and what is no object has no number. */
const membersOf = (recipient: RecipientInput): RecipientInput =>
  typeof recipient === 'object' && recipient !== null ? recipient : NO_MEMBERS;

const NO_MEMBERS = {} as RecipientInput;

function rowOf(
  line: number,
  given: RecipientInput,
  columns: readonly string[],
  late: readonly string[] | undefined,
): Row {
  const recipient = membersOf(given);
  let unusable: Map<number, string> | undefined;
  const text = (member: string, position: number): string => {
    // A column may have the name of something that every object inherits, such as `toString`.
    const value = Object.hasOwn(recipient, member) ? recipient[member] : undefined;
    const reason = unusableBecause(value);
    if (reason !== null) {
      unusable ??= new Map();
      unusable.set(position, reason);
    }
    // It may have a `toString` that is no function, or be nested too deeply to be a text.
    return typeof value === 'object' ? '' : String(value ?? '');
  };
  const fields = columns.map(text);
  // Unlike a value of the message, it may be missing from the first recipient.
  const isReferenceLate = !columns.includes('reference') && Object.hasOwn(recipient, 'reference');
  const reference = isReferenceLate ? text('reference', NO_COLUMN) : undefined;
  return {
    line,
    fields,
    fault: null,
    ...(isReferenceLate && { reference }),
    ...(unusable && { unusable }),
    ...(late && { late }),
  };
}

/** The members with a value that are not known; undefined if there are none. */
function lateMembers(recipient: RecipientInput, known: ReadonlySet<string>): string[] | undefined {
  let late: string[] | undefined;
  for (const name in recipient) {
    if (known.has(name) || !Object.hasOwn(recipient, name) || (recipient[name] ?? '') === '') continue;
    late ??= [];
    late.push(name);
  }
  return late;
}

/** Why a value would arrive on the phone as something else, or null if it arrives as it is. */
function unusableBecause(value: string | number | null | undefined): string | null {
  if (typeof value === 'string') return value.length > MAX_FIELD_LENGTH ? tooLong(value) : null;
  if (value !== undefined && value !== null && typeof value !== 'number') return 'is not a text or a number';
  return inexact(value);
}

/** Why a number would become another text than its sender means; null for one that would not, and for anything else. */
export function inexact(value: unknown): string | null {
  // JavaScript and JSON keep 12345678901234567890 as 12345678901234567000.
  if (typeof value !== 'number' || (Number.isSafeInteger(Math.trunc(value)) && !/e/.test(String(value))))
    return null;
  return `is the number ${value}, which has no exact decimal form; pass it as a string`;
}
