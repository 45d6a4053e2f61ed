import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { recipientListKey, type Series, slicesKey } from './campaign-keys.js';
import { packedNumber, unpackRecipient } from './packed-recipient.js';
import {
  packSlice,
  SLICE,
  type StoredRecipient,
  unpackNumbers,
  unpackReferences,
  unpackSlice,
} from './slice-blob.js';

/*
 * Where a slice is: in the hash of its series (slice-blob.ts), or, as long as a wave of an outbox may grow, in a list to which a script
 * appends (packed-recipient.ts).
 */

/** A slice as it is stored: packed whole, or recipient by recipient. */
export type StoredSlice = Buffer | readonly Buffer[];

/** The series of slices of a campaign. */
export interface SeriesOf {
  readonly lane: LaneId;
  readonly campaign: string;
  readonly series: Series;
}

/** Reads slices of a campaign; null for each that is not stored. */
export async function readSlices(
  redis: Redis,
  keys: Keys,
  { lane, campaign, series }: SeriesOf,
  numbers: readonly number[],
): Promise<(StoredSlice | null)[]> {
  const packed = slicesKey(keys, lane, campaign, series);
  const blobs = await redis.hmgetBuffer(packed, ...numbers.map(String));
  if (series !== 'slices') return blobs;
  const list = recipientListKey(keys, lane, campaign);
  return Promise.all(
    numbers.map(async (number, at): Promise<StoredSlice | null> => {
      const blob = blobs[at] ?? null;
      if (blob !== null) return blob;
      const slice = await redis.lrangeBuffer(list, number * SLICE, number * SLICE + SLICE - 1);
      // Another process may have packed the list meanwhile.
      return slice.length > 0 ? slice : redis.hgetBuffer(packed, String(number));
    }),
  );
}

/** How many slices of a series are stored. */
export async function countSlices(
  redis: Redis,
  keys: Keys,
  { lane, campaign, series }: SeriesOf,
): Promise<number> {
  const recipients = series === 'slices' ? await redis.llen(recipientListKey(keys, lane, campaign)) : 0;
  // After the list: another process may pack that meanwhile.
  const packed = await redis.hlen(slicesKey(keys, lane, campaign, series));
  return Math.max(packed, Math.ceil(recipients / SLICE));
}

/**
 * Packs the list of a wave to which nothing is appended any more: that takes a third of the memory. Repeating it is harmless, and so is
 * doing it in two processes at once.
 */
export async function packList(redis: Redis, keys: Keys, lane: LaneId, campaign: string): Promise<void> {
  const list = recipientListKey(keys, lane, campaign);
  for (let number = 0; ; number += 1) {
    const slice = await redis.lrangeBuffer(list, number * SLICE, number * SLICE + SLICE - 1);
    if (slice.length === 0) break;
    await redis.hset(
      slicesKey(keys, lane, campaign, 'slices'),
      String(number),
      packSlice(recipientsOf(slice)),
    );
  }
  await redis.unlink(list);
}

const isBlob = (slice: StoredSlice): slice is Buffer => Buffer.isBuffer(slice);

/** The recipients of a slice. Throws if it is cut short. */
export const recipientsOf = (slice: StoredSlice): StoredRecipient[] =>
  isBlob(slice) ? unpackSlice(slice) : slice.map((recipient) => unpackRecipient(recipient));

/** Only their numbers, without their plus. */
export const numbersOf = (slice: StoredSlice): number[] =>
  isBlob(slice) ? unpackNumbers(slice) : slice.map(packedNumber);

/** Only their references; empty texts where there are none. */
export const referencesOf = (slice: StoredSlice): string[] =>
  isBlob(slice) ? unpackReferences(slice) : slice.map((recipient) => unpackRecipient(recipient).reference);
