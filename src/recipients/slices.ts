import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { slicesKey } from './campaign-keys.js';
import { atHand } from './lru-cache.js';
import { SLICE, type StoredRecipient, unpackNumbers, unpackSlice } from './slice-blob.js';

export { SLICE, type StoredRecipient, unpackNumbers } from './slice-blob.js';

/** Stored data is not what was written: a part of it was deleted, or Redis is configured to evict keys. */
export class DamagedError extends Error {
  override readonly name = 'DamagedError';
}

/** A lane sends a few campaigns in turn, and polls go through the list behind the sends. */
const SLICES_AT_HAND = 16;

/** Reads a lane's recipients by their ordinals, whose slices it goes through in order. */
export function sliceReader(redis: Redis, keys: Keys, lane: string) {
  const lately = atHand<readonly StoredRecipient[]>(SLICES_AT_HAND);
  const slice = (campaign: string, number: number): Promise<readonly StoredRecipient[]> => {
    const key = slicesKey(keys, lane, campaign, 'slices');
    return lately(`${key} ${number}`, () => readSlice(redis, key, number, unpackSlice));
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
 * Reads recipients' numbers by their ordinals, on any lane: the digits of `count` of them from ordinal `from` on, all of
 * one slice. Throws a DamagedError where there are none. Reports come in no order at all, so more is kept at hand than by
 * who goes through a list.
 */
export function ordinalNumbers(redis: Redis, keys: Keys) {
  const lately = atHand<readonly number[]>(NUMBERS_AT_HAND);
  return async (lane: string, campaign: string, from: number, count: number): Promise<readonly number[]> => {
    const key = slicesKey(keys, lane, campaign, 'slices');
    const slice = Math.floor(from / SLICE);
    const within = from - slice * SLICE;
    const numbers = await lately(`${key} ${slice}`, () => readSlice(redis, key, slice, unpackNumbers));
    return exactly(count, numbers.slice(within, within + count));
  };
}

/** See {@link ordinalNumbers}. */
export type OrdinalNumbers = ReturnType<typeof ordinalNumbers>;

function exactly<Recipient>(count: number, found: readonly Recipient[]): readonly Recipient[] {
  if (found.length !== count)
    throw new DamagedError(`${count} recipients were asked for where there are ${found.length}`);
  return found;
}

async function readSlice<Read>(
  redis: Redis,
  key: string,
  number: number,
  unpack: (blob: Buffer) => Read,
): Promise<Read> {
  const blob = await redis.hgetBuffer(key, String(number));
  if (blob === null) throw new DamagedError(`there is no slice ${number} in ${key}`);
  try {
    return unpack(blob);
  } catch (error) {
    throw new DamagedError(`slice ${number} in ${key} cannot be read`, { cause: error });
  }
}
