/*
 * Numbers as base-128 varints: least significant digit first, top bit set on all but the last. Bit operators would cut values to 32 bits.
 */

/** Writes a number, and returns the place after it. */
export function writeVarint(bytes: Buffer, from: number, value: number): number {
  let rest = value;
  let at = from;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) + 0x80;
  bytes[at] = rest;
  return at + 1;
}

/** Reads a number, and returns the place after it. Throws a RangeError if it is cut short. */
export function readVarint(bytes: Buffer, from: number): [value: number, next: number] {
  let value = 0;
  let scale = 1;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    value += (byte % 0x80) * scale;
    if (byte < 0x80) return [value, at + 1];
    scale *= 0x80;
  }
  throw new RangeError('a stored recipient is cut short');
}
