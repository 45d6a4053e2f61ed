import { UNSET } from '../../../engine/recipients/outbox-messages.js';

/** A message that waits, or is to be put. How Redis stores it: engine/recipients/outbox.lua. */
export interface WaitingMessage {
  /** When it is due, in seconds since the epoch; 0: at once. */
  readonly due: number;
  readonly version: number | null;
  /** E.164 with its plus. */
  readonly number: string;
  /** A value per column of the outbox, in their order. */
  readonly values: readonly string[];
  readonly reference: string;
  /** Default: none. */
  readonly tag?: string;
  /** Its own time zone, or that of the country of its number (campaign/estimate/window.ts). Default: none. */
  readonly zone?: string;
  /** Whether the message has a `sendAt` of its own, and does not follow the rule of the outbox. */
  readonly hasOwnTime?: boolean;
  /** The revision of the outbox by which it was checked; 0, the default, until the outbox is changed for the first time. */
  readonly revision?: number;
}

/** What a message is charged for beside its id, twice, and its content: its number, its time, and its places in the hash and the sorted set. */
const OWN_BYTES = 160;
const PAID_UNIT = 16;

/** What an API key pays for a message, in bytes, from its put until it is forgotten: about what it takes while it waits. */
export function paidBytes(
  id: string,
  { values, reference, tag = '', zone = '' }: Pick<WaitingMessage, 'values' | 'reference' | 'tag' | 'zone'>,
): number {
  const given = [tag, zone].filter((text) => text !== '');
  const texts = [...values, reference, ...given].reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  return Math.ceil((OWN_BYTES + 2 * Buffer.byteLength(id) + texts) / PAID_UNIT) * PAID_UNIT;
}

/** The members between the revision and the tag, of a message that waits. */
const BEFORE_TAG = Object.values(UNSET).slice(8, -2);

/** A waiting message as scripts read it: the first members of a stored one. It has no number yet. */
export function messageText({
  due,
  version,
  number,
  values,
  reference,
  tag = '',
  zone = '',
  hasOwnTime = false,
  revision = 0,
}: WaitingMessage): string {
  return JSON.stringify([
    0,
    hasOwnTime ? -due : due,
    // Scripts keep 14 digits of a number.
    number.length > 15 ? number.slice(1) : Number(number),
    values,
    reference,
    'W',
    version ?? -1,
    revision,
    ...(tag + zone === '' ? [] : [...BEFORE_TAG, tag, ...(zone === '' ? [] : [zone])]),
  ]);
}
