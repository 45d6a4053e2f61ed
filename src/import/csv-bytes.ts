import { isUtf8 } from 'node:buffer';
import { ListError } from './list-error.js';

const SAVE_AS_UTF8 = 'Save the file as "CSV UTF-8" and try again';

/** A character of UTF-8 has at most four bytes, so at most three of one can be left over at the end of a chunk. */
const LONGEST_TAIL = 3;

const LINE_FEED = 0x0a;

/**
 * Passes chunks of a file on as they come, and throws a {@link ListError} naming the line at the first byte that is not
 * UTF-8; `firstLine` is the line of the first byte. Without this a name in Latin-1 or Windows-1252 would reach its owner's phone as "S�ren".
 */
export async function* utf8Only(chunks: AsyncIterable<Buffer>, firstLine: number): AsyncGenerator<Buffer> {
  let line = firstLine;
  let tail: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = tail.length === 0 ? chunk : Buffer.concat([tail, chunk]);
    const whole = bytes.subarray(0, bytes.length - unfinished(bytes));
    if (!isUtf8(whole)) throw notUtf8(line, whole);
    tail = bytes.subarray(whole.length);
    line += lineFeeds(whole);
    yield whole;
  }
  if (tail.length > 0) throw notUtf8(line, tail);
}

const WORKBOOK = `This is an Excel workbook, not a CSV file. ${SAVE_AS_UTF8}.`;

/** How files begin that are taken for a CSV. Each has zero bytes further on, as UTF-16 has. */
const OTHER_FORMATS = [
  [Buffer.from('PK\u0003\u0004'), WORKBOOK],
  [Buffer.from([0xd0, 0xcf, 0x11, 0xe0]), WORKBOOK],
  [Buffer.from([0x1f, 0x8b]), 'This file is packed with gzip. Unpack it and try again.'],
  [Buffer.from('%PDF'), 'This is a PDF, not a CSV file: a list of rows under a header line is needed.'],
] as const;

/**
 * Throws a {@link ListError} for a file that is no CSV in UTF-8 to begin with: UTF-16, as Excel's "Unicode Text" is, an
 * Excel workbook and the like. `head` is the beginning of the file.
 */
export function refuseOtherFormats(head: Buffer): void {
  for (const [beginning, message] of OTHER_FORMATS) {
    if (head.subarray(0, beginning.length).equals(beginning)) throw new ListError(message);
  }
  const [first, second] = head;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isUtf16 || head.includes(0)) throw new ListError(`This file is UTF-16, not UTF-8. ${SAVE_AS_UTF8}.`);
}

/** How many bytes at the end begin a character that the next chunk ends. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(LONGEST_TAIL, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

function notUtf8(firstLine: number, bytes: Buffer): ListError {
  let line = firstLine;
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(LINE_FEED, start);
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) break;
    start = end + 1;
    line += 1;
  }
  return new ListError(`Line ${line} has characters that are not UTF-8. ${SAVE_AS_UTF8}.`);
}

function lineFeeds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}
