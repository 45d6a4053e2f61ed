import { isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';
import { isOtherFormat } from '../../intake/import/csv/utf8.js';
import { ListError } from '../../intake/import/rows.js';

/** An encoding other than UTF-8. */
type Encoding = 'Windows-1252' | 'UTF-16';

/** Called once, when a text turns out not to be UTF-8. `example`: a word that is written differently in other encodings. */
type OnEncoding = (encoding: Encoding, example: string | undefined) => void;

/** Half of a surrogate pair. */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** A UTF-8 character has at most four bytes, so a chunk can end with at most three bytes of an unfinished one. */
const MAX_TAIL_BYTES = 3;
/** Bytes from which UTF-16 without a byte order mark is recognised. */
const HEAD_BYTES = 64;
/** Bytes that Windows-1252 does not define. */
const UNDEFINED = /[\x81\x8d\x8f\x90\x9d]/;
/** What UTF-8 writes for é, ’, and the like. In Windows-1252 it would be "Ã©" or "â€™", which no text contains. */
const UTF8_IN_BETWEEN = /[\xc2\xc3][\x80-\xbf]|\xe2\x80[\x90-\xbf]/;
const HIGH_SURROGATE = /[\ud800-\udbff]$/;
const WORD = /[\p{L}\p{M}\p{N}'’.-]*[^\p{ASCII}][\p{L}\p{M}\p{N}'’.-]*/u;

/**
 * Turns a text in Windows-1252 or UTF-16 into UTF-8, and passes on a text in UTF-8 and everything else. Excel for Windows saves
 * "CSV" as Windows-1252 and "Unicode Text" as UTF-16.
 *
 * The first character that is not ASCII decides between UTF-8 and Windows-1252. A text that then mixes both is refused: part of it
 * would arrive wrong.
 */
export async function* inUtf8(chunks: AsyncIterable<Buffer>, onEncoding: OnEncoding): AsyncGenerator<Buffer> {
  const { head, rest } = await headOf(chunks);
  const utf16 = utf16Of(head);
  if (utf16 === undefined) yield* from8Bit(rest(), onEncoding);
  else yield* fromUtf16(rest(), utf16, onEncoding);
}

async function headOf(chunks: AsyncIterable<Buffer>) {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const next = await iterator.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* rest(): AsyncGenerator<Buffer> {
    try {
      if (head.length > 0) yield head;
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      await iterator.return?.();
    }
  }
  return { head, rest };
}

function utf16Of(head: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (isOtherFormat(head)) return undefined;
  // Latin letters, digits, and delimiters have a zero byte in UTF-16.
  const zeros = (odd: 0 | 1): number => head.filter((byte, at) => byte === 0 && at % 2 === odd).length;
  const most = head.length / 4;
  if (zeros(1) > most && zeros(0) === 0) return 'utf-16le';
  return zeros(0) > most && zeros(1) === 0 ? 'utf-16be' : undefined;
}

async function* fromUtf16(
  chunks: AsyncIterable<Buffer>,
  encoding: 'utf-16le' | 'utf-16be',
  onEncoding: OnEncoding,
): AsyncGenerator<Buffer> {
  onEncoding('UTF-16', undefined);
  const decoder = iconv.getDecoder(encoding, { stripBOM: true });
  let carried = '';
  const encoded = (text: string): Buffer => {
    const whole = carried + text;
    carried = HIGH_SURROGATE.exec(whole)?.[0] ?? '';
    const complete = whole.slice(0, whole.length - carried.length);
    if (LONE_SURROGATE.test(complete)) throw new ListError('The file is damaged: it is not valid UTF-16.');
    return Buffer.from(complete);
  };
  for await (const chunk of chunks) yield encoded(decoder.write(chunk));
  yield encoded(decoder.end() ?? '');
  if (carried !== '') throw new ListError('The file is damaged: it is not valid UTF-16.');
}

async function* from8Bit(chunks: AsyncIterable<Buffer>, onEncoding: OnEncoding): AsyncGenerator<Buffer> {
  let mode: 'ascii' | 'utf8' | 'windows1252' = 'ascii';
  let tail: Buffer = Buffer.alloc(0);
  const read = (bytes: Buffer, isLast: boolean): Buffer => {
    if (mode === 'windows1252') return windows1252(bytes);
    const start = bytes.findIndex((byte) => byte >= 0x80);
    if (mode === 'utf8' || start === -1) return bytes;
    const length = lengthOfCharacter(bytes[start] ?? 0);
    const character = bytes.subarray(start, start + length);
    if (!isLast && character.length < length) {
      tail = bytes.subarray(start);
      return bytes.subarray(0, start);
    }
    mode = isUtf8(character) ? 'utf8' : 'windows1252';
    if (mode === 'utf8') return bytes;
    const text = windows1252(bytes);
    onEncoding('Windows-1252', WORD.exec(text.toString())?.[0]);
    return text;
  };
  for await (const chunk of chunks) {
    const bytes: Buffer = tail.length === 0 ? chunk : Buffer.concat([tail, chunk]);
    tail = Buffer.alloc(0);
    yield read(bytes, false);
  }
  if (tail.length > 0) yield read(tail, true);
}

function lengthOfCharacter(first: number): number {
  return first >= 0xf0 ? MAX_TAIL_BYTES + 1 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/** A character between two chunks is not checked for UTF-8, which is enough to notice a text that mixes both. */
function windows1252(bytes: Buffer): Buffer {
  const latin1 = bytes.toString('latin1');
  if (UNDEFINED.test(latin1)) {
    throw new ListError('The file is neither UTF-8 nor Windows-1252. Save it as "CSV UTF-8" and try again.');
  }
  if (UTF8_IN_BETWEEN.test(latin1)) {
    throw new ListError(
      'The file is partly UTF-8 and partly Windows-1252. Save it as "CSV UTF-8" and try again.',
    );
  }
  return Buffer.from(iconv.decode(bytes, 'windows-1252'));
}
