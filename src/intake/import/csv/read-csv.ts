import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { fieldReader, numberColumnOf } from '../../../campaign/own-files.js';
import { ListError, MAX_FIELD_LENGTH, mapRows, type Row, type Rows, tooLong } from '../rows.js';
import { listTurn } from './list-turns.js';
import { CsvRecords, recordsOf } from './records.js';
import { refuseOtherFormats, utf8Only } from './utf8.js';

/** The header and the dialect must lie within this many bytes from the start. */
const HEAD_BYTES = 64 * 1024;
/** Bytes parsed at once at most. Checking and packing their rows takes some milliseconds. */
const CHUNK_BYTES = 32 * 1024;
/** As many as a spreadsheet can have. */
const MAX_COLUMNS = 16_384;

/** A tie goes to the comma: a header with one column contains no delimiter at all. */
const DELIMITERS: readonly string[] = [',', ';', '\t'];

const BYTE_ORDER_MARK = '\ufeff';

/** Excel writes `sep=;` as the first line so that an Excel of another country knows the delimiter. */
const EXCEL_SEPARATOR_LINE = /^sep=(.)\r?\n/i;

/** How a CSV file is written, detected from its first lines. */
interface CsvDialect {
  readonly delimiter: string;
  /** Bytes before the header: a byte order mark, Excel's `sep=` line. */
  readonly skipBytes: number;
  /** Line number of the first byte after those; the first line of a file is 1. */
  readonly firstLine: number;
}

/**
 * Opens a CSV file by its path, or a stream of one, and reads its header.
 *
 * Accepts UTF-8 with or without a byte order mark, commas, semicolons, or tabs, any line endings, and RFC 4180 quotes.
 * Blank lines are skipped. Files that
 * Volley wrote about a list (own-files.ts) are read without what makes them safe in a spreadsheet. A field may have up to {@link MAX_FIELD_LENGTH} characters. Column names are trimmed; fields are not. A quote inside an unquoted field is kept as it is.
 * Throws a {@link ListError}, here or while the batches are read, for a file that is not such a list. Reading rejects when
 * `signal` is aborted, even while it waits for a slow source.
 */
export async function readCsv(input: string | Readable, signal?: AbortSignal): Promise<Rows> {
  const source = typeof input === 'string' ? createReadStream(input) : input;
  try {
    const chunks = buffersOf(source, signal);
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
      throw new ListError('The file is empty. It needs a header line and at least one row.');
    const names = columnNames(header);
    const readField = fieldReader(names);
    const columns = readField === undefined ? names : names.map(readField);
    const close = (): void => void source.destroy();
    const checked = (row: Row): Row => {
      const read = readField === undefined ? row : { ...row, fields: row.fields.map(readField) };
      return withFault(requireShortFields(read, columns), columns.length);
    };
    // The parser does not close its source when it is left early.
    const numberColumn = numberColumnOf(columns);
    return { columns, numberColumn, batches: mapRows(rows, batches, checked, close), close };
  } catch (error) {
    source.destroy();
    throw asListError(error, input);
  }
}

/**
 * Throws for a field that is too long. Unlike other faults, it refuses the whole list: it is probably a quote that was opened by
 * mistake and contains many rows, which would be left out together.
 */
function requireShortFields(row: Row, columns: readonly string[]): Row {
  for (const [at, field] of row.fields.entries()) {
    if (field.length <= MAX_FIELD_LENGTH) continue;
    const column = columns[at];
    const where = column === undefined ? `field ${at + 1}` : `column ${JSON.stringify(column)}`;
    throw new ListError(
      `Line ${row.line}, ${where}: the field ${tooLong(field)}. Shorten it, or close its quote if it contains other rows.`,
    );
  }
  return row;
}

/** A row with too few or too many fields carries that as its fault. */
function withFault(row: Row, columns: number): Row {
  const count = row.fields.length;
  if (count === columns) return row;
  const advice = count > columns ? '; put a field that contains the delimiter in quotes' : '';
  return {
    ...row,
    fault: `has ${count} ${count === 1 ? 'field' : 'fields'}, but the header has ${columns}${advice}`,
  };
}

/** Detects the dialect. `head` is the start of the file, including the whole header. */
function dialectOf(head: string): CsvDialect {
  const mark = head.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const text = head.slice(mark.length);
  const separatorLine = EXCEL_SEPARATOR_LINE.exec(text);
  const skipped = mark + (separatorLine?.[0] ?? '');
  return {
    delimiter: separatorLine?.[1] ?? commonestDelimiter(text),
    skipBytes: Buffer.byteLength(skipped),
    firstLine: separatorLine === null ? 1 : 2,
  };
}

/** The delimiter that occurs most often in the header, outside quotes. A quote opens only at the start of a field. */
function commonestDelimiter(text: string): string {
  const counts = new Map<string, number>(DELIMITERS.map((delimiter) => [delimiter, 0]));
  let quoted = false;
  let before = '';
  for (const char of text.trimStart()) {
    const opens = before === '' || before === '"' || counts.has(before);
    if (char === '"' && (quoted || opens)) quoted = !quoted;
    else if (!quoted && (char === '\n' || char === '\r')) break;
    else if (!quoted && counts.has(char)) counts.set(char, (counts.get(char) ?? 0) + 1);
    before = char;
  }
  return DELIMITERS.reduce((best, each) => ((counts.get(each) ?? 0) > (counts.get(best) ?? 0) ? each : best));
}

function columnNames(header: Row): readonly string[] {
  const names = requireShortFields(header, []).fields.map((name) => name.trim());
  if (names.length > MAX_COLUMNS) {
    throw new ListError(
      `Line ${header.line}: the header has ${names.length} columns; the maximum is ${MAX_COLUMNS}. Check the delimiter.`,
    );
  }
  const nameless = names.indexOf('');
  if (nameless !== -1) {
    throw new ListError(
      `Line ${header.line}: column ${nameless + 1} has no name. Name it or delete the column.`,
    );
  }
  const seen = new Set<string>();
  const repeated = names.find((name) => seen.size === seen.add(name).size);
  if (repeated !== undefined) {
    throw new ListError(
      `Line ${header.line}: two columns are named ${JSON.stringify(repeated)}. Rename one of them.`,
    );
  }
  return names;
}

/** The bytes of the source in chunks, each in a turn of the event loop that no other list uses. */
async function* buffersOf(source: Readable, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer | string> = source[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(chunks.next(), signal);
    if (next.done === true) return;
    const bytes = typeof next.value === 'string' ? Buffer.from(next.value) : next.value;
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      await listTurn();
      yield bytes.subarray(at, at + CHUNK_BYTES);
    }
  }
}

/** Rejects when the signal is aborted, even if the work never ends: the other end may send nothing. */
async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return work;
  // It may reject when the signal has been aborted already, and a rejection without a handler ends the process.
  work.catch(() => {});
  signal.throwIfAborted();
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** At least the first {@link HEAD_BYTES}, or the whole file if it is shorter. */
async function headOf(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  const head: Buffer[] = [];
  for (let bytes = 0; bytes < HEAD_BYTES; ) {
    const next = await chunks.next();
    if (next.done === true) break;
    head.push(next.value);
    bytes += next.value.length;
  }
  return Buffer.concat(head);
}

async function* joined(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  yield* rest;
}

/** Turns the errors of opening a file into a ListError; returns any other error as it is. */
function asListError(error: unknown, input: string | Readable): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  // A folder can be opened; the failing read names no path.
  const path = 'path' in error ? error.path : input;
  if (typeof path !== 'string') return error;
  switch (error.code) {
    case 'ENOENT':
      return new ListError(`There is no file ${path}.`, { cause: error });
    case 'EACCES':
      return new ListError(`You do not have permission to read ${path}.`, { cause: error });
    case 'EISDIR':
      return new ListError(`The path ${path} is a folder. Give the path of the CSV file itself.`, {
        cause: error,
      });
    default:
      return error;
  }
}
