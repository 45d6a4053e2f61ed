import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { refuseOtherFormats, utf8Only } from './csv-bytes.js';
import { dialectOf } from './csv-dialect.js';
import { CsvRecords, recordsOf } from './csv-records.js';
import { ListError } from './list-error.js';
import type { Row, Rows } from './row.js';

/** The header and the dialect are looked for in this many first bytes. */
const HEAD_BYTES = 64 * 1024;
/** As many as a spreadsheet can have. */
const MOST_COLUMNS = 16_384;

/**
 * Opens a CSV file by its path, or a stream of one, and reads its header.
 *
 * It takes UTF-8 with or without a byte order mark, commas, semicolons or tabs, any line ends, RFC 4180 quotes, and
 * skips blank lines. Column names are trimmed; fields are not. A quote inside an unquoted field stands for itself.
 * Throws a {@link ListError}, here or while the batches are read, for a file that is no such list.
 */
export async function readCsv(input: string | Readable): Promise<Rows> {
  const source = typeof input === 'string' ? createReadStream(input) : input;
  try {
    const chunks = buffersOf(source);
    const head = await headOf(chunks);
    refuseOtherFormats(head);
    const { delimiter, skipBytes, firstLine } = dialectOf(head.toString());
    const parser = new CsvRecords(delimiter, firstLine);
    // An error of the source reaches the parser, and through its iterator the caller.
    pipeline(utf8Only(joined(head.subarray(skipBytes), chunks), firstLine), parser, () => {});
    const batches = recordsOf(parser);
    const first = await batches.next();
    const [header, ...rows] = first.done === true ? [] : first.value;
    if (header === undefined)
      throw new ListError('The file is empty: it needs a header line and rows below it.');
    const columns = columnNames(header);
    const close = (): void => void source.destroy();
    return { columns, batches: checked(columns.length, rows, batches, close), close };
  } catch (error) {
    source.destroy();
    throw asListError(error, input);
  }
}

/** Rows from the second on, each with the fault of having too few or too many fields if it does. */
async function* checked(
  columns: number,
  first: readonly Row[],
  rest: AsyncIterable<readonly Row[]>,
  close: () => void,
): AsyncGenerator<readonly Row[]> {
  try {
    if (first.length > 0) yield first.map((row) => withFault(row, columns));
    for await (const batch of rest) yield batch.map((row) => withFault(row, columns));
  } finally {
    // A parser that is left early does not let go of its source.
    close();
  }
}

function withFault(row: Row, columns: number): Row {
  const count = row.fields.length;
  if (count === columns) return row;
  const quotes = count > columns ? '; a field that holds the delimiter must stand in quotes' : '';
  const fields = count === 1 ? 'field' : 'fields';
  return { ...row, fault: `has ${count} ${fields}, but the header has ${columns}${quotes}` };
}

function columnNames(header: Row): readonly string[] {
  const names = header.fields.map((name) => name.trim());
  if (names.length > MOST_COLUMNS) {
    throw new ListError(
      `Line ${header.line}: the header names ${names.length} columns, and no list has more than ${MOST_COLUMNS}; is the delimiter right?`,
    );
  }
  const nameless = names.indexOf('');
  if (nameless !== -1) {
    throw new ListError(
      `Line ${header.line}: column ${nameless + 1} has no name; name it, or delete the column.`,
    );
  }
  const seen = new Set<string>();
  const twice = names.find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) {
    throw new ListError(`Line ${header.line}: two columns are called ${JSON.stringify(twice)}; rename one.`);
  }
  return names;
}

async function* buffersOf(source: Readable): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer | string> = source;
  for await (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

/** The first bytes: enough to see the header, or all there are. */
async function headOf(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  const taken: Buffer[] = [];
  for (let bytes = 0; bytes < HEAD_BYTES; ) {
    const next = await chunks.next();
    if (next.done === true) break;
    taken.push(next.value);
    bytes += next.value.length;
  }
  return Buffer.concat(taken);
}

async function* joined(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  yield* rest;
}

/** Turns the errors of opening a file into the reader's own; anything else stays what it is. */
function asListError(error: unknown, input: string | Readable): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  // Of a folder it is the reading that fails, which names no path.
  const path = 'path' in error ? error.path : input;
  if (typeof path !== 'string') return error;
  switch (error.code) {
    case 'ENOENT':
      return new ListError(`There is no file ${path}.`, { cause: error });
    case 'EACCES':
      return new ListError(`The file ${path} may not be read by this user.`, { cause: error });
    case 'EISDIR':
      return new ListError(`${path} is a folder: name the CSV file itself.`, { cause: error });
    default:
      return error;
  }
}
