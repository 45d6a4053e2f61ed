/*
 * The format of a message in Redis, which message.lua reads as far as scripts need it:
 *   1 byte   W: waiting, P: harvested, C: cancelled, L: lapsed
 *   4 bytes  W: when it is due, in seconds; P: its ordinal in its wave; C, L: when it is forgotten, in seconds
 *   1 byte   length of the version, 0 if there is none, and 128 more if an API key pays; then the version, most significant byte first
 *   5 bytes  only then: the number of the key (3), and what the message takes, in 16 bytes (2). The scripts add and read them
 *   the rest W: number as a base-128 varint, then each value and the reference, each with its length in bytes before it
 *            P: the id of the wave
 *            C, L: what the results say of it (ended.lua): when it ended, in seconds; its number; its reference. Nothing if it never
 *            waited, or was stored by an earlier version
 * Only a waiting message needs most of this. Once it is sent, its wave has the rest.
 */

/** A waiting message. */
export interface WaitingMessage {
  /** When it is due, in seconds since the epoch; 0: at once. */
  readonly due: number;
  readonly version: number | null;
  /** E.164 with its plus. */
  readonly number: string;
  /** A value per placeholder, in the order of the outbox's message. */
  readonly values: readonly string[];
  readonly reference: string;
}

/** What Redis stores under an id. */
export type StoredMessage =
  | ({ readonly kind: 'waiting' } & WaitingMessage)
  | {
      readonly kind: 'harvested';
      readonly wave: string;
      readonly ordinal: number;
      readonly version: number | null;
    }
  | {
      readonly kind: 'cancelled' | 'lapsed';
      /** In seconds since the epoch. */
      readonly forgetAt: number;
      readonly version: number | null;
      /** Null if it never waited. */
      readonly ended: EndedMessage | null;
    };

/** What is kept of a waiting message that has ended. */
export interface EndedMessage {
  /** In seconds since the epoch. */
  readonly at: number;
  /** E.164 with its plus. */
  readonly number: string;
  readonly reference: string;
}

const HEAD_BYTES = 6;
const PAID = 128;
const PAYMENT_BYTES = 5;
/** What a message is charged for beside its id, twice, and its content: its number, its time, and its places in hashes and lists. */
const OWN_BYTES = 64;
const PAID_UNIT = 16;
/** No message that is accepted takes so much. */
const MAX_PAID_UNITS = 0xffff;

/** What an API key pays for a message, in bytes, from its put until it is forgotten: about what it takes while it waits. */
export function paidBytes(
  id: string,
  { values, reference }: Pick<WaitingMessage, 'values' | 'reference'>,
): number {
  const texts = [...values, reference].reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  const units = Math.ceil((OWN_BYTES + 2 * Buffer.byteLength(id) + texts) / PAID_UNIT);
  return Math.min(units, MAX_PAID_UNITS) * PAID_UNIT;
}

/** Packs a waiting message, in one buffer: lists of millions of messages are packed one by one. */
export function packMessage({ due, version, number, values, reference }: WaitingMessage): Buffer {
  const start = head('W', due, version);
  const digits = Number(number);
  const texts = [...values, reference];
  const sizes = texts.map((text) => Buffer.byteLength(text));
  const length = sizes.reduce(
    (sum, size) => sum + varintBytes(size) + size,
    start.length + varintBytes(digits),
  );
  const packed = Buffer.allocUnsafe(length);
  start.copy(packed);
  let at = writeVarint(packed, start.length, digits);
  for (const [index, text] of texts.entries()) {
    at = writeVarint(packed, at, sizes[index] ?? 0);
    at += packed.write(text, at, 'utf8');
  }
  return packed;
}

/** Packs a cancelled message that was never waiting, or gets a version of its own. */
export function packCancelled(forgetAt: number, version: number): Buffer {
  return head('C', forgetAt, version);
}

/** Packs a harvested message. */
export function packPointer(ordinal: number, version: number | null, wave: string): Buffer {
  return Buffer.concat([head('P', ordinal, version), Buffer.from(wave, 'latin1')]);
}

/** Reads what is stored. Throws a RangeError if it is cut short. */
export function unpackMessage(raw: Buffer): StoredMessage {
  const at = raw.readUInt32BE(1);
  const length = (raw[5] ?? 0) % PAID;
  const paid = HEAD_BYTES + length;
  const end = (raw[5] ?? 0) < PAID ? paid : paid + PAYMENT_BYTES;
  const version = length === 0 ? null : Number(`0x${raw.toString('hex', HEAD_BYTES, paid)}`);
  switch (raw.toString('latin1', 0, 1)) {
    case 'P':
      return { kind: 'harvested', ordinal: at, version, wave: raw.toString('latin1', end) };
    case 'C':
      return { kind: 'cancelled', forgetAt: at, version, ended: unpackEnded(raw, end) };
    case 'L':
      return { kind: 'lapsed', forgetAt: at, version, ended: unpackEnded(raw, end) };
    default:
      break;
  }
  const texts: string[] = [];
  let [number, next] = readVarint(raw, end);
  while (next < raw.length) {
    const [size, start] = readVarint(raw, next);
    next = start + size;
    texts.push(raw.toString('utf8', start, next));
  }
  const reference = texts.pop() ?? '';
  return { kind: 'waiting', due: at, version, number: `+${number}`, values: texts, reference };
}

function unpackEnded(raw: Buffer, from: number): EndedMessage | null {
  if (raw.length <= from) return null;
  const [number, next] = readVarint(raw, from + 4);
  return { at: raw.readUInt32BE(from), number: `+${number}`, reference: raw.toString('utf8', next) };
}

function head(kind: string, at: number, version: number | null): Buffer {
  let length = 0;
  for (let rest = version ?? 0; rest > 0 || (version !== null && length === 0); rest = Math.floor(rest / 256))
    length += 1;
  const packed = Buffer.allocUnsafe(HEAD_BYTES + length);
  packed[0] = kind.charCodeAt(0);
  packed.writeUInt32BE(at, 1);
  packed[5] = length;
  for (let place = packed.length - 1, rest = version ?? 0; place >= HEAD_BYTES; place -= 1) {
    packed[place] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return packed;
}

/** How many bytes a number takes as a base-128 varint. */
function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}

/** Returns the place after it. */
function writeVarint(packed: Buffer, from: number, value: number): number {
  let at = from;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) packed[at++] = (rest % 0x80) + 0x80;
  packed[at] = rest;
  return at + 1;
}

function readVarint(bytes: Buffer, from: number): [value: number, next: number] {
  let value = 0;
  let scale = 1;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    value += (byte % 0x80) * scale;
    if (byte < 0x80) return [value, at + 1];
    scale *= 0x80;
  }
  throw new RangeError('a message of an outbox is cut short');
}
