import { binaryFormat, FORMAT_BYTES, isWorkbook } from './file-format.js';

/*
 * Turns a text in Windows-1252 or UTF-16 into UTF-8, passes on a text in UTF-8, and refuses files that are no text: for the command line, and for the page
 * of the console. Excel for Windows saves "CSV" as Windows-1252, and "Unicode Text" as UTF-16.
 *
 * The first character that is not ASCII decides between UTF-8 and Windows-1252. A text that then mixes both is refused: part of it would
 * arrive wrong.
 */

/** An encoding other than UTF-8. */
export type Encoding = 'Windows-1252' | 'UTF-16';

/** Called once, when a text turns out not to be UTF-8. `example`: a word that is written differently in other encodings. */
export type OnEncoding = (encoding: Encoding, example: string | undefined) => void;

/** A text that cannot be read; the message is for people. */
export class EncodingError extends Error {
  override readonly name = 'EncodingError';
}

/**
 * What Windows-1252 has at 0x80 to 0x9f, where Latin-1 has control characters; a space where it defines nothing. `TextDecoder` has the rest,
 * but in Node.js 20 it reads these bytes of Windows-1252 as Latin-1, so that 0x80 is no €.
 */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';
const SPACE = 0x20;
const WORD = /[\p{L}\p{M}\p{N}'’.-]*[^\p{ASCII}][\p{L}\p{M}\p{N}'’.-]*/u;
const encoder = new TextEncoder();

/**
 * Passes a text on in UTF-8. `onEncoding` is called once if it was not. `passesWorkbook`: an Excel workbook is passed on as it is. Throws a {@link EncodingError} for a text that is damaged, and for a file that
 * is none.
 */
export async function* inUtf8(
  chunks: AsyncIterable<Uint8Array>,
  onEncoding: OnEncoding,
  passesWorkbook = false,
): AsyncGenerator<Uint8Array> {
  let decode: ((bytes: Uint8Array, isLast: boolean) => Uint8Array) | undefined;
  let held = new Uint8Array();
  for await (const chunk of chunks) {
    const bytes = held.length === 0 ? chunk : joined(held, chunk);
    held = new Uint8Array();
    if (decode === undefined) {
      if (bytes.length < FORMAT_BYTES) {
        held = bytes.slice();
        continue;
      }
      decode = decoderOf(bytes, onEncoding, passesWorkbook);
    }
    yield decode(bytes, false);
  }
  yield (decode ?? decoderOf(held, onEncoding, passesWorkbook))(held, true);
}

function decoderOf(head: Uint8Array, onEncoding: OnEncoding, passesWorkbook: boolean) {
  if (passesWorkbook && isWorkbook(head)) return (bytes: Uint8Array): Uint8Array => bytes;
  const format = binaryFormat(head);
  if (format !== undefined) throw new EncodingError(format);
  const utf16 = utf16Of(head);
  if (utf16 === undefined) return from8Bit(onEncoding);
  onEncoding('UTF-16', undefined);
  const decoder = new TextDecoder(utf16, { fatal: true });
  return (bytes: Uint8Array, isLast: boolean): Uint8Array => {
    try {
      return encoder.encode(decoder.decode(bytes, { stream: !isLast }));
    } catch {
      throw new EncodingError('The file is damaged: it is not valid UTF-16.');
    }
  };
}

/** Which UTF-16 a text is in that begins like this; undefined if it is in none. */
export function utf16Of(head: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const bytes = head.subarray(0, FORMAT_BYTES);
  // Latin letters, digits, and delimiters have a zero byte in UTF-16.
  const zeros = (odd: 0 | 1): number => bytes.filter((byte, at) => byte === 0 && at % 2 === odd).length;
  const most = bytes.length / 4;
  if (zeros(1) > most && zeros(0) === 0) return 'utf-16le';
  return zeros(0) > most && zeros(1) === 0 ? 'utf-16be' : undefined;
}

function from8Bit(onEncoding: OnEncoding) {
  let mode: 'ascii' | 'utf8' | 'windows1252' = 'ascii';
  let tail = new Uint8Array();
  let before = 0;
  const windows1252 = (bytes: Uint8Array): string => {
    const units = new Uint16Array(bytes.length);
    for (let at = 0; at < bytes.length; at++) {
      const [byte = 0, next = 0] = [bytes[at], bytes[at + 1]];
      // What UTF-8 writes for é, ’, and the like. In Windows-1252 it would be "Ã©" or "â€™", which no text contains.
      const isUtf8 =
        ((before === 0xc2 || before === 0xc3) && byte >= 0x80 && byte <= 0xbf) ||
        (before === 0xe2 && byte === 0x80 && next >= 0x90 && next <= 0xbf);
      if (isUtf8) throw unclear('partly UTF-8 and partly Windows-1252');
      const isOther = byte >= 0x80 && byte <= 0x9f;
      const unit = isOther ? WINDOWS_1252.charCodeAt(byte - 0x80) : byte;
      if (isOther && unit === SPACE) throw unclear('neither UTF-8 nor Windows-1252');
      units[at] = unit;
      before = byte;
    }
    return new TextDecoder('utf-16le').decode(units);
  };
  return (chunk: Uint8Array, isLast: boolean): Uint8Array => {
    const bytes = tail.length === 0 ? chunk : joined(tail, chunk);
    tail = new Uint8Array();
    if (mode === 'utf8') return bytes;
    if (mode === 'windows1252') return encoder.encode(windows1252(bytes));
    const start = bytes.findIndex((byte) => byte >= 0x80);
    if (start === -1) return bytes;
    const length = lengthOfCharacter(bytes[start] ?? 0);
    const character = bytes.subarray(start, start + length);
    if (!isLast && character.length < length) {
      tail = bytes.slice(start);
      return bytes.subarray(0, start);
    }
    mode = isUtf8(character) ? 'utf8' : 'windows1252';
    if (mode === 'utf8') return bytes;
    const text = windows1252(bytes);
    onEncoding('Windows-1252', WORD.exec(text)?.[0]);
    return encoder.encode(text);
  };
}

const unclear = (what: string): EncodingError =>
  new EncodingError(`The file is ${what}. Save it as "CSV UTF-8" and try again.`);

const lengthOfCharacter = (first: number): number =>
  first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
