import { isUtf8 } from 'node:buffer';
import { binaryFormat, textFormat } from '../../../campaign/lists/file-format.js';
import { utf16Of } from '../../../campaign/lists/list-encoding.js';
import { ListError } from '../rows/rows.js';

const SAVE_AS_UTF8 = 'Save the file as "CSV UTF-8" and try again';
const UTF_16 = `This file is UTF-16, not UTF-8. ${SAVE_AS_UTF8}.`;
const MAX_START = 1_000;

/** A UTF-8 character has at most four bytes, so a chunk can end with at most three bytes of an unfinished one. */
const MAX_TAIL_BYTES = 3;

const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d];

/**
 * Passes the chunks of a file on, and throws a {@link ListError} that names the line of the first byte that is not UTF-8, or is zero.
 * `firstLine` is the line of the first byte. Without this check, a name in Latin-1 or Windows-1252 would arrive on the
 * phone as "S�ren".
 */
export async function* textOnly(chunks: AsyncIterable<Buffer>, firstLine: number): AsyncGenerator<Buffer> {
  let line = firstLine;
  let tail: Buffer = Buffer.alloc(0);
  let before = 0;
  for await (const chunk of chunks) {
    const bytes = tail.length === 0 ? chunk : Buffer.concat([tail, chunk]);
    const whole = bytes.subarray(0, bytes.length - unfinishedBytes(bytes));
    if (!isUtf8(whole)) throw notUtf8(line, whole, before);
    const zero = whole.indexOf(0);
    if (zero !== -1) throw notText(line + lineBreaks(whole.subarray(0, zero), before));
    tail = bytes.subarray(whole.length);
    line += lineBreaks(whole, before);
    before = whole.at(-1) ?? before;
    yield whole;
  }
  if (tail.length > 0) throw notUtf8(line, tail, before);
}

/**
 * Throws a {@link ListError} for a file that is not CSV in UTF-8: a workbook, a PDF, gzip, or UTF-16 such as Excel's "Unicode Text". `head`
 * is the start of the file.
 */
export function refuseOtherFormats(head: Buffer): void {
  const format =
    binaryFormat(head) ?? (utf16Of(head) && UTF_16) ?? textFormat(head.toString('utf8', 0, MAX_START));
  if (format !== undefined) throw new ListError(format);
}

/** How many bytes at the end belong to a character that continues in the next chunk. */
function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(MAX_TAIL_BYTES, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

function notUtf8(firstLine: number, bytes: Buffer, before: number): ListError {
  let start = 0;
  for (;;) {
    const length = bytes.subarray(start).findIndex((byte) => byte === LINE_FEED || byte === CARRIAGE_RETURN);
    if (length === -1 || !isUtf8(bytes.subarray(start, start + length))) break;
    start += length + 1;
  }
  const line = firstLine + lineBreaks(bytes.subarray(0, start), before);
  return new ListError(`Line ${line} is not valid UTF-8. ${SAVE_AS_UTF8}.`);
}

function notText(line: number): ListError {
  return new ListError(
    `Line ${line} contains a zero byte (NUL), which no text does: the file is damaged. Export it again.`,
  );
}

/** How many line breaks are in these bytes: LF, CR, or both. `before`: the byte before them, whose line break is counted. */
function lineBreaks(bytes: Buffer, before: number): number {
  let count = 0;
  for (let at = bytes.indexOf(CARRIAGE_RETURN); at !== -1; at = bytes.indexOf(CARRIAGE_RETURN, at + 1))
    count += 1;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1))
    if ((at === 0 ? before : bytes[at - 1]) !== CARRIAGE_RETURN) count += 1;
  return count;
}
