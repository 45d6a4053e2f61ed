import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { DamagedError } from './damaged.js';
import { SLICE, type StoredRecipient, unpackNumbers, unpackSlice } from './slice-blob.js';

export { SLICE, type StoredRecipient, unpackNumbers, unpackSlice } from './slice-blob.js';

/** `slices`: recipients that are sent to; `suppressed`: those that already were so when the list was imported. */
export type Series = 'slices' | 'suppressed';

/** The key of a campaign's recipients: a hash, slice number -> blob. The ordinal is slice × {@link SLICE} + place. */
export function slicesKey(keys: Keys, lane: string, campaign: string, series: Series): string {
  return keys.lane(lane, `campaign:${campaign}:${series}`);
}

/** A lane sends a few campaigns in turn, and polls go through the list behind the sends. */
const SLICES_AT_HAND = 16;

/**
 * Reads recipients by their ordinals. The slices read last are kept unpacked, because a lane goes through them in
 * order; they never change, so nothing can be stale.
 */
export function sliceReader(redis: Redis, keys: Keys, lane: string) {
  const atHand = new Map<string, Promise<readonly StoredRecipient[]>>();

  const slice = (campaign: string, number: number): Promise<readonly StoredRecipient[]> => {
    const name = `${campaign} ${number}`;
    const known = atHand.get(name);
    // What is used goes to the end: the first is then the one that was not used for longest.
    atHand.delete(name);
    const reading = known ?? readSlice(redis, slicesKey(keys, lane, campaign, 'slices'), number);
    atHand.set(name, reading);
    if (known === undefined) reading.catch(() => atHand.delete(name));
    const oldest = atHand.size > SLICES_AT_HAND ? atHand.keys().next().value : undefined;
    if (oldest !== undefined) atHand.delete(oldest);
    return reading;
  };

  return {
    /** `count` recipients from ordinal `from` on, both integers from 0. Throws an Error where there are none. */
    async recipients(campaign: string, from: number, count: number): Promise<readonly StoredRecipient[]> {
      const first = Math.floor(from / SLICE);
      const last = Math.floor((from + count - 1) / SLICE);
      const within = from - first * SLICE;
      if (first === last) return exactly(count, (await slice(campaign, first)).slice(within, within + count));
      const numbers = Array.from({ length: last - first + 1 }, (_, at) => first + at);
      const slices = await Promise.all(numbers.map((number) => slice(campaign, number)));
      return exactly(count, slices.flat().slice(within, within + count));
    },
  };
}

/** Numbers alone take 2 kB a slice: those of a million recipients some 9 MB. */
const NUMBERS_AT_HAND = 4_096;

/**
 * Reads recipients' numbers by their ordinals, on any lane. Reports come in no order at all, so more is kept at hand than
 * by who goes through a list.
 */
export function numberReader(redis: Redis, keys: Keys) {
  const atHand = new Map<string, Promise<readonly number[]>>();

  const slice = (key: string, number: number): Promise<readonly number[]> => {
    const name = `${key} ${number}`;
    const known = atHand.get(name);
    atHand.delete(name);
    const reading =
      known ?? readBlob(redis, key, number).then((blob) => unpacked(blob, key, number, unpackNumbers));
    atHand.set(name, reading);
    if (known === undefined) reading.catch(() => atHand.delete(name));
    const oldest = atHand.size > NUMBERS_AT_HAND ? atHand.keys().next().value : undefined;
    if (oldest !== undefined) atHand.delete(oldest);
    return reading;
  };

  /** The digits of `count` numbers from ordinal `from` on, all of one slice. Throws a DamagedError where there are none. */
  return async (lane: string, campaign: string, from: number, count: number): Promise<readonly number[]> => {
    const number = Math.floor(from / SLICE);
    const within = from - number * SLICE;
    const numbers = await slice(slicesKey(keys, lane, campaign, 'slices'), number);
    return exactly(count, numbers.slice(within, within + count));
  };
}

export type NumberReader = ReturnType<typeof numberReader>;

export type SliceReader = ReturnType<typeof sliceReader>;

function exactly<Recipient>(count: number, found: readonly Recipient[]): readonly Recipient[] {
  if (found.length !== count)
    throw new DamagedError(`${count} recipients were asked for where there are ${found.length}`);
  return found;
}

async function readSlice(redis: Redis, key: string, number: number): Promise<readonly StoredRecipient[]> {
  return unpacked(await readBlob(redis, key, number), key, number, unpackSlice);
}

async function readBlob(redis: Redis, key: string, number: number): Promise<Buffer> {
  const blob = await redis.hgetBuffer(key, String(number));
  if (blob === null) throw new DamagedError(`there is no slice ${number} in ${key}`);
  return blob;
}

function unpacked<Read>(blob: Buffer, key: string, number: number, unpack: (blob: Buffer) => Read): Read {
  try {
    return unpack(blob);
  } catch (error) {
    throw new DamagedError(`slice ${number} in ${key} cannot be read`, { cause: error });
  }
}
