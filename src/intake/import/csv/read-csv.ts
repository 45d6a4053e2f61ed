import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { unlessAborted } from '../../../base/clock.js';
import { readProblem } from '../../../base/config/file-problem.js';
import { type CsvRecord, dialectOf } from '../../../campaign/lists/csv-records.js';
import { fieldReader, numberColumnOf } from '../../../campaign/lists/own-files.js';
import { refuseTitle } from '../rows/number-column.js';
import {
  inRowBatches,
  ListError,
  MAX_FIELD_LENGTH,
  mapRows,
  type Row,
  type Rows,
  tooLong,
} from '../rows/rows.js';
import { recordsOf } from './records.js';
import { refuseOtherFormats, textOnly } from './utf8.js';

/** The header and the dialect must lie within this many bytes from the start. */
const HEAD_BYTES = 64 * 1024;
/** Bytes parsed at once at most. */
const CHUNK_BYTES = 32 * 1024;
/** As many as a spreadsheet can have. */
const MAX_COLUMNS = 16_384;

/**
 * Opens a CSV file by its path, or a stream of one, and reads its header.
 *
 * Accepts UTF-8 with or without a byte order mark, commas, semicolons, or tabs, any line endings, and RFC 4180 quotes.
 * Blank lines are skipped. Files that Volley wrote about a list (own-files.ts) are read without what makes them safe in a spreadsheet.
 * A field may have up to {@link MAX_FIELD_LENGTH} characters. Column names are trimmed; fields are not. Delimiters behind the last column
 * mean nothing, and columns of the same name get their positions as a part of it.
 * Throws a {@link ListError}, here or while the batches are read, for a file that is not such a list. Reading rejects when
 * `signal` is aborted, even while it waits for a slow source.
 */
export async function readCsv(input: string | Readable, signal?: AbortSignal): Promise<Rows> {
  const source = typeof input === 'string' ? createReadStream(input) : input;
  try {
    const chunks = buffersOf(source, signal);
    const head = await headOf(chunks);
    refuseOtherFormats(head);
    const { delimiter, skipped, firstLine } = dialectOf(head.toString());
    const bytes = joined(head.subarray(Buffer.byteLength(skipped)), chunks);
    const batches = inRowBatches(recordsOf(textOnly(bytes, firstLine), { delimiter, firstLine }));
    const first = await batches.next();
    const [header, ...records] = first.done === true ? [] : first.value;
    if (header === undefined)
      throw new ListError('The file is empty. It needs a header line and at least one row.');
    const names = columnNames(header, records);
    const readField = fieldReader(names);
    const columns = readField === undefined ? names : names.map(readField);
    const rowOf = (record: CsvRecord): Row => rowOfRecord(record, columns, header.fields.length, readField);
    const close = (): void => void source.destroy();
    return {
      columns,
      numberColumn: numberColumnOf(columns),
      batches: mapRows(records, batches, rowOf, close),
      close,
    };
  } catch (error) {
    source.destroy();
    throw asListError(error, input);
  }
}

/** `width`: how many columns the header has, including those without a name. */
function rowOfRecord(
  { line, row, fields: raw, fault, lines }: CsvRecord,
  columns: readonly string[],
  width: number,
  readField: ((field: string) => string) | undefined,
): Row {
  const fields = readField === undefined ? raw : raw.map(readField);
  const named = fields.length > columns.length ? withoutBlankEnd(fields, columns.length) : fields;
  const problem = fault?.text(fieldName(fault.at, columns)) ?? faultOf(named, columns, width);
  return {
    line,
    row,
    fields: named,
    fault: problem === null ? null : `${problem}${spannedLines(line, lines)}`,
    ...(lines && { lines }),
  };
}

/** Which lines a row consists of, if there are several: others may be among them by mistake. */
function spannedLines(line: number, lines: CsvRecord['lines']): string {
  return lines === undefined ? '' : `; because of its quotes, it ends on line ${line + lines.length - 1}`;
}

/** What is wrong with a row as a whole; null if nothing is. */
function faultOf(fields: readonly string[], columns: readonly string[], width: number): string | null {
  const count = fields.length;
  if (count !== columns.length) {
    if (count <= width && count > columns.length)
      return `has a value in ${fieldName(count - 1, columns)}, but that column has no name; name it in the header, or delete it`;
    const advice = count > columns.length ? '; put a field that contains the delimiter in quotes' : '';
    return `has ${count} ${count === 1 ? 'field' : 'fields'}, but the header has ${columns.length}${advice}`;
  }
  for (let at = 0; at < count; at++) {
    const field = fields[at] ?? '';
    if (field.length > MAX_FIELD_LENGTH)
      return `has a field in ${fieldName(at, columns)} that ${tooLong(field)}`;
  }
  return null;
}

/** Without the blank fields behind the last column: programs write a delimiter at the end of each row. */
function withoutBlankEnd(fields: readonly string[], count: number): readonly string[] {
  let end = fields.length;
  while (end > count && fields[end - 1]?.trim() === '') end -= 1;
  return fields.slice(0, end);
}

const fieldName = (at: number, columns: readonly string[]): string =>
  columns[at] === undefined ? `field ${at + 1}` : `column ${JSON.stringify(columns[at])}`;

/** The names of the columns in a header. `records`: those below it, which may show that it is another line. */
function columnNames({ line, fields, fault }: CsvRecord, records: readonly CsvRecord[]): readonly string[] {
  if (fault !== undefined)
    throw new ListError(`Line ${line}, the header, ${fault.text(`field ${fault.at + 1}`)}.`);
  const all = fields.map((name) => name.trim());
  if (all.length > MAX_COLUMNS) {
    throw new ListError(
      `Line ${line}: the header has ${all.length} columns; the maximum is ${MAX_COLUMNS}. Check the delimiter.`,
    );
  }
  const long = all.findIndex((name) => name.length > MAX_FIELD_LENGTH);
  if (long !== -1)
    throw new ListError(
      `Line ${line}: the name of column ${long + 1} ${tooLong(all[long] ?? '')}. Check the delimiter.`,
    );
  const names = withoutBlankEnd(all, 1);
  refuseTitle(line, names, records);
  const nameless = names.indexOf('');
  if (nameless !== -1) {
    throw new ListError(
      `Line ${line}, the header: column ${nameless + 1} has no name. Name it or delete the column.`,
    );
  }
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const unique = names.map((name, at) => ((counts.get(name) ?? 0) > 1 ? `${name} (column ${at + 1})` : name));
  const repeated = unique.find((name, at) => unique.indexOf(name) !== at);
  if (counts.size < names.length && repeated !== undefined)
    throw new ListError(
      `Line ${line}: two columns are named ${JSON.stringify(repeated)}. Rename one of them.`,
    );
  return unique;
}

/** The bytes of the source in chunks. Rejects when the signal is aborted, even if the other end sends nothing. */
async function* buffersOf(source: Readable, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer | string> = source[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(chunks.next(), signal);
    if (next.done === true) return;
    const bytes = typeof next.value === 'string' ? Buffer.from(next.value) : next.value;
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
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

/** Turns an error of the system into a ListError; returns any other error as it is. */
function asListError(error: unknown, input: string | Readable): unknown {
  // A folder can be opened; the failing read names no path.
  const path = error instanceof Error && 'path' in error ? error.path : input;
  const problem = typeof path === 'string' ? readProblem(error, path) : undefined;
  return problem === undefined ? error : new ListError(`${problem}.`, { cause: error });
}
