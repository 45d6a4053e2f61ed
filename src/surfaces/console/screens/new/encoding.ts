/*
 * Turns a list in Windows-1252 or UTF-16 into UTF-8, as the command line does (surfaces/cli/encoding.ts): Excel for Windows saves "CSV" as
 * Windows-1252, and "Unicode Text" as UTF-16. The first character that is not ASCII decides between UTF-8 and Windows-1252.
 */

export type Encoding = 'UTF-8' | 'Windows-1252' | 'UTF-16';

/** A list that cannot be read; the message is for people. */
export class ListProblem extends Error {
  override readonly name = 'ListProblem';
}

const HEAD_BYTES = 64;
/** Bytes that Windows-1252 does not define. */
const UNDEFINED = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);
const encoder = new TextEncoder();

/** Passes a text on in UTF-8. `onEncoding` is called once if it was not. Throws a {@link ListProblem} for a text that is damaged. */
export async function* inUtf8(
  chunks: AsyncIterable<Uint8Array>,
  onEncoding: (encoding: Encoding) => void,
): AsyncGenerator<Uint8Array> {
  let decode: ((bytes: Uint8Array, isLast: boolean) => Uint8Array) | undefined;
  let held = new Uint8Array();
  for await (const chunk of chunks) {
    const bytes = held.length === 0 ? chunk : joined(held, chunk);
    held = new Uint8Array();
    if (decode === undefined) {
      if (bytes.length < HEAD_BYTES) {
        held = bytes.slice();
        continue;
      }
      decode = decoderOf(bytes, onEncoding);
    }
    yield decode(bytes, false);
  }
  yield (decode ?? decoderOf(held, onEncoding))(held, true);
}

function decoderOf(head: Uint8Array, onEncoding: (encoding: Encoding) => void) {
  const utf16 = utf16Of(head);
  if (utf16 === undefined) return from8Bit(onEncoding);
  onEncoding('UTF-16');
  const decoder = new TextDecoder(utf16, { fatal: true });
  return (bytes: Uint8Array, isLast: boolean): Uint8Array => {
    try {
      return encoder.encode(decoder.decode(bytes, { stream: !isLast }));
    } catch {
      throw new ListProblem('The file is damaged: it is not valid UTF-16.');
    }
  };
}

function utf16Of(head: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  // A zip, which a workbook is: the server says so.
  if (first === 0x50 && second === 0x4b) return undefined;
  const bytes = head.subarray(0, HEAD_BYTES);
  // Latin letters, digits, and delimiters have a zero byte in UTF-16.
  const zeros = (odd: 0 | 1): number => bytes.filter((byte, at) => byte === 0 && at % 2 === odd).length;
  const most = bytes.length / 4;
  if (zeros(1) > most && zeros(0) === 0) return 'utf-16le';
  return zeros(0) > most && zeros(1) === 0 ? 'utf-16be' : undefined;
}

function from8Bit(onEncoding: (encoding: Encoding) => void) {
  let mode: 'ascii' | 'utf8' | 'windows1252' = 'ascii';
  let tail = new Uint8Array();
  let before = 0;
  const decoder = new TextDecoder('windows-1252');
  const windows1252 = (bytes: Uint8Array): Uint8Array => {
    for (const [at, byte] of bytes.entries()) {
      if (UNDEFINED.has(byte))
        throw new ListProblem(
          'The file is neither UTF-8 nor Windows-1252. Save it as "CSV UTF-8" and try again.',
        );
      const isInUtf8 =
        ((before === 0xc2 || before === 0xc3) && byte >= 0x80 && byte <= 0xbf) ||
        (before === 0xe2 && byte === 0x80 && (bytes[at + 1] ?? 0) >= 0x90 && (bytes[at + 1] ?? 0) <= 0xbf);
      if (isInUtf8)
        throw new ListProblem(
          'The file is partly UTF-8 and partly Windows-1252. Save it as "CSV UTF-8" and try again.',
        );
      before = byte;
    }
    return encoder.encode(decoder.decode(bytes));
  };
  return (chunk: Uint8Array, isLast: boolean): Uint8Array => {
    const bytes = tail.length === 0 ? chunk : joined(tail, chunk);
    tail = new Uint8Array();
    if (mode === 'utf8') return bytes;
    if (mode === 'windows1252') return windows1252(bytes);
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
    onEncoding('Windows-1252');
    return windows1252(bytes);
  };
}

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
