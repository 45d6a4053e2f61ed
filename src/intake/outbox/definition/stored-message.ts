import { packRecipient, unpackRecipient } from '../../../engine/recipients/packed-recipient.js';

/*
 * The format of a message in Redis, which message.lua reads as far as scripts need it:
 *   1 byte   W: waiting, P: planned, C: cancelled, L: lapsed
 *   4 bytes  W: when it is due, in seconds; P: its ordinal in its wave; C, L: when it is forgotten, in seconds
 *   1 byte   length of the version, 0 if there is none, and flags: 128 if an API key pays, 64 if its time is its own, 32 if it has a
 *            revision; then the version, most significant byte first
 *   2 bytes  only with a revision: that of the outbox by which it was checked
 *   5 bytes  only if a key pays: its number (3), and what the message takes, in 16 bytes (2). The scripts add and read them
 *   the rest W: the recipient that it becomes (packed-recipient.ts), without its id and its time
 *            P: the id of the wave
 *            C, L: what the results say of it (ended.lua): when it ended, in seconds, and its recipient without values. Nothing if it never
 *            waited
 * Only a waiting message needs most of this. Once it is sent, its wave has the rest.
 */

/** A waiting message. */
export interface WaitingMessage {
  /** When it is due, in seconds since the epoch; 0: at once. */
  readonly due: number;
  readonly version: number | null;
  /** E.164 with its plus. */
  readonly number: string;
  /** A value per column of the outbox, in their order. */
  readonly values: readonly string[];
  readonly reference: string;
  /** Whether the message has a `sendAt` of its own, and does not follow the rule of the outbox. */
  readonly hasOwnTime?: boolean;
  /** The revision of the outbox by which it was checked; 0, the default, until the outbox is changed for the first time. */
  readonly revision?: number;
}

/** What Redis stores under an id. */
export type StoredMessage =
  | ({ readonly kind: 'waiting' } & WaitingMessage)
  | {
      readonly kind: 'planned';
      readonly wave: string;
      readonly ordinal: number;
      readonly version: number | null;
      /** As long as it waited. */
      readonly hasOwnTime: boolean;
      readonly revision: number;
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
  /** E.164 with its plus; empty once it is forgotten. */
  readonly number: string;
  readonly reference: string;
}

const HEAD_BYTES = 6;
const [PAID, OWN_TIME, REVISED] = [128, 64, 32];
const LENGTHS = 32;
const PAYMENT_BYTES = 5;
const ENDED_AT_BYTES = 4;
const REVISION_BYTES = 2;
/** The highest revision that a message can name. */
export const MAX_REVISION = 0xffff;
/** What a message is charged for beside its id, twice, and its content: its number, its time, and its places in the hash and the sorted set. */
const OWN_BYTES = 160;
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

/** Packs a waiting message. */
export function packMessage({
  due,
  version,
  hasOwnTime = false,
  revision = 0,
  ...recipient
}: WaitingMessage): Buffer {
  const start = head('W', due, version, { hasOwnTime, revision });
  const packed = packRecipient(recipient, start.length);
  start.copy(packed);
  return packed;
}

/** Packs the tombstone of an id: a cancelled message that was never waiting, or the version of a cancel. */
export function packTombstone(forgetAt: number, version: number): Buffer {
  return head('C', forgetAt, version);
}

/** Whether a stored message waits. */
export const isWaiting = (raw: Buffer): boolean => raw.toString('latin1', 0, 1) === 'W';

/** Reads what is stored. Throws a RangeError if it is cut short. */
export function unpackMessage(raw: Buffer): StoredMessage {
  const at = raw.readUInt32BE(1);
  const flags = raw[5] ?? 0;
  const length = flags % LENGTHS;
  const afterVersion = HEAD_BYTES + length;
  const isRevised = (flags & REVISED) !== 0;
  const paid = isRevised ? afterVersion + REVISION_BYTES : afterVersion;
  const end = (flags & PAID) === 0 ? paid : paid + PAYMENT_BYTES;
  const version = length === 0 ? null : Number(`0x${raw.toString('hex', HEAD_BYTES, afterVersion)}`);
  const noted = {
    hasOwnTime: (flags & OWN_TIME) !== 0,
    revision: isRevised ? raw.readUInt16BE(afterVersion) : 0,
  };
  switch (raw.toString('latin1', 0, 1)) {
    case 'P':
      return { kind: 'planned', ordinal: at, version, ...noted, wave: raw.toString('latin1', end) };
    case 'C':
      return { kind: 'cancelled', forgetAt: at, version, ended: unpackEnded(raw, end) };
    case 'L':
      return { kind: 'lapsed', forgetAt: at, version, ended: unpackEnded(raw, end) };
    default:
      return {
        kind: 'waiting',
        due: at,
        version,
        ...noted,
        ...unpackRecipient(raw, end),
      };
  }
}

/** Where the recipient of a message begins that waited and has ended. */
export function endedOffset(raw: Buffer): number {
  const flags = raw[5] ?? 0;
  const revision = (flags & REVISED) === 0 ? 0 : REVISION_BYTES;
  const payment = (flags & PAID) === 0 ? 0 : PAYMENT_BYTES;
  return HEAD_BYTES + (flags % LENGTHS) + revision + payment + ENDED_AT_BYTES;
}

function unpackEnded(raw: Buffer, from: number): EndedMessage | null {
  if (raw.length <= from) return null;
  const { number, reference } = unpackRecipient(raw, from + ENDED_AT_BYTES);
  // Of a message that was forgotten, there is no number.
  return { at: raw.readUInt32BE(from), number: number === '+0' ? '' : number, reference };
}

interface HeadOptions {
  readonly hasOwnTime?: boolean;
  readonly revision?: number;
}

function head(
  kind: string,
  at: number,
  version: number | null,
  { hasOwnTime = false, revision = 0 }: HeadOptions = {},
): Buffer {
  let length = 0;
  for (let rest = version ?? 0; rest > 0 || (version !== null && length === 0); rest = Math.floor(rest / 256))
    length += 1;
  const packed = Buffer.allocUnsafe(HEAD_BYTES + length + (revision > 0 ? REVISION_BYTES : 0));
  packed[0] = kind.charCodeAt(0);
  packed.writeUInt32BE(at, 1);
  packed[5] = length + (hasOwnTime ? OWN_TIME : 0) + (revision > 0 ? REVISED : 0);
  for (let place = HEAD_BYTES + length - 1, rest = version ?? 0; place >= HEAD_BYTES; place -= 1) {
    packed[place] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  if (revision > 0) packed.writeUInt16BE(revision, HEAD_BYTES + length);
  return packed;
}
