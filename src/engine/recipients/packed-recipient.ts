import type { StoredRecipient } from './slice-blob.js';
import { readVarint, varintBytes, writeVarint } from './varint.js';

/*
 * A recipient on its own, which Lua can append to a list: its number as a base-128 varint, then its reference and each of its values, each
 * with its length in bytes before it. A slice (slice-blob.ts) takes a third of the memory, but only a process can pack it.
 */

/** Packs a recipient in one buffer: lists of millions of messages are packed one by one. */
export function packRecipient({ number, values, reference = '' }: StoredRecipient, headBytes = 0): Buffer {
  const digits = Number(number);
  const texts = [reference, ...values];
  const sizes = texts.map((text) => Buffer.byteLength(text));
  const length = sizes.reduce((sum, size) => sum + varintBytes(size) + size, headBytes + varintBytes(digits));
  const packed = Buffer.allocUnsafe(length);
  let at = writeVarint(packed, headBytes, digits);
  for (const [index, text] of texts.entries()) {
    at = writeVarint(packed, at, sizes[index] ?? 0);
    at += packed.write(text, at, 'utf8');
  }
  return packed;
}

/** Unpacks what {@link packRecipient} packed, after the first `from` bytes. Throws a RangeError if it is cut short. */
export function unpackRecipient(packed: Buffer, from = 0): StoredRecipient & { readonly reference: string } {
  const [digits, end] = readVarint(packed, from);
  const texts: string[] = [];
  for (let at = end; at < packed.length; ) {
    const [size, start] = readVarint(packed, at);
    at = start + size;
    if (at > packed.length) throw new RangeError('a recipient is cut short');
    texts.push(packed.toString('utf8', start, at));
  }
  const [reference = '', ...values] = texts;
  return { number: `+${digits}`, values, reference };
}

/** The number of a packed recipient, without its plus. */
export const packedNumber = (packed: Buffer): number => readVarint(packed, 0)[0];
