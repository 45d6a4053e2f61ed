import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { unlessAborted } from '../../base/clock.js';
import { readProblem } from '../../base/config/file-problem.js';
import { dialectOf } from '../../campaign/lists/csv-records.js';
import { isWorkbook } from '../../campaign/lists/file-format.js';
import { recordsOf } from './csv/records.js';
import { refuseOtherFormats, textOnly } from './csv/utf8.js';
import type { SheetChoice } from './excel/limits.js';
import { ListError, type Rows } from './rows/rows.js';
import { rowsUnderHeader } from './rows/under-header.js';

/** The header and the dialect must lie within this many bytes from the start. */
const HEAD_BYTES = 64 * 1024;
/** Bytes parsed at once at most. */
const CHUNK_BYTES = 32 * 1024;

/** How a file is read. */
interface FileOptions {
  /** Which part of it is the list; undefined: a person cannot choose, and errors offer no choice. */
  readonly choice?: SheetChoice | undefined;
  /** Aborts reading, even while it waits for a slow source. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens a CSV file or an Excel workbook by its path, or a stream of one, and reads its header.
 *
 * A CSV is in UTF-8 with or without a byte order mark, has commas, semicolons, or tabs, any line endings, and RFC 4180 quotes. Of a workbook
 * (excel/), one sheet is read, and its rows are as those of a CSV. Blank lines are skipped. Files that Volley wrote about a list (own-files.ts)
 * are read without what makes them safe in a spreadsheet. A field may have up to 5,000 characters.
 * Throws a {@link ListError}, here or while the batches are read, for a file that is not such a list.
 */
export async function openFile(
  input: string | Readable,
  { choice, signal }: FileOptions = {},
): Promise<Rows> {
  const source = typeof input === 'string' ? createReadStream(input) : input;
  let close = (): void => void source.destroy();
  try {
    const chunks = buffersOf(source, signal);
    const head = await headOf(chunks);
    if (isWorkbook(head)) {
      const { readWorkbook } = await import('./excel/read-workbook.js');
      const workbook = await readWorkbook(joined(head, chunks), choice, signal);
      const { records, sheet, sheets } = workbook;
      close = workbook.close;
      const rows = await rowsUnderHeader(records, { choice, arePadded: true, close });
      const warnings = [...otherSheets(sheet, sheets, choice), ...workbook.warnings];
      return { ...rows, sheet, sheets, warnings };
    }
    refuseOtherFormats(head);
    return await csvRows(head, chunks, { choice, close });
  } catch (error) {
    close();
    throw asListError(error, input);
  }
}

/** Says that a workbook has several sheets, if the producer has not chosen one. */
function otherSheets(sheet: string, sheets: readonly string[], choice: SheetChoice | undefined): string[] {
  if (sheets.length < 2 || choice?.sheet !== undefined) return [];
  const others = sheets.filter((name) => name !== sheet).map((name) => JSON.stringify(name));
  const advice = choice === undefined ? '' : ' To read another one, set `sheet`.';
  return [
    `The list is the first sheet, ${JSON.stringify(sheet)}. The workbook also has ${others.join(', ')}.${advice}`,
  ];
}

function csvRows(
  head: Buffer,
  chunks: AsyncIterable<Buffer>,
  options: { readonly choice: SheetChoice | undefined; close(): void },
): Promise<Rows> {
  const { sheet, headerLine } = options.choice ?? {};
  if (sheet !== undefined) throw new ListError('The file is CSV, which has no sheets. Leave `sheet` out.');
  const above = headerLine === undefined ? 0 : bytesAbove(head, headerLine);
  const { delimiter, skipped, firstLine } = dialectOf(head.toString('utf8', above));
  const bytes = joined(head.subarray(above + Buffer.byteLength(skipped)), chunks);
  const line = firstLine + (headerLine ?? 1) - 1;
  const records = recordsOf(textOnly(bytes, line), { delimiter, firstLine: line });
  return rowsUnderHeader(records, options);
}

const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d];

/** How many bytes are above a line. Throws a {@link ListError} if there is no such line in the head of the file. */
function bytesAbove(head: Buffer, line: number): number {
  let at = 0;
  for (let above = 1; above < line; above++) {
    const end = head.subarray(at).findIndex((byte) => byte === LINE_FEED || byte === CARRIAGE_RETURN);
    at += end + (head[at + end] === CARRIAGE_RETURN && head[at + end + 1] === LINE_FEED ? 2 : 1);
    if (end === -1 || at >= head.length)
      throw new ListError(`The file has no line ${line} that could be the header.`);
  }
  return at;
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
