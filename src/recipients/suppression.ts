import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';

/** Numbers in one command: large enough that a list of a million takes seconds, small enough to hold nobody up. */
const AT_ONCE = 1000;
const PACKED_BYTES = 8;

/** The numbers that nothing is ever sent to. All numbers here are E.164 with their plus. */
export function suppression(redis: Redis, keys: Keys) {
  const key = keys.suppressed;
  const inBatches = async (
    numbers: Iterable<string>,
    command: (packed: Buffer[]) => Promise<number>,
  ): Promise<number> => {
    let changed = 0;
    for (const batch of batches(numbers)) changed += await command(packed(batch));
    return changed;
  };
  return {
    /** Returns how many were not there before. */
    add: (numbers: Iterable<string>): Promise<number> =>
      inBatches(numbers, (batch) => redis.sadd(key, ...batch)),
    /** Returns how many were there. */
    remove: (numbers: Iterable<string>): Promise<number> =>
      inBatches(numbers, (batch) => redis.srem(key, ...batch)),
    count: (): Promise<number> => redis.scard(key),
    /** Each once, in no order. What is added or removed meanwhile may or may not appear. */
    async *list(): AsyncGenerator<string> {
      // A scan may give a number twice while the set is being resized.
      const seen = new Set<number>();
      for (let cursor = '0'; ; ) {
        const [next, members] = await redis.sscanBuffer(key, cursor, 'COUNT', AT_ONCE);
        for (const member of members) {
          const number = member.readDoubleBE();
          if (seen.size !== seen.add(number).size) yield `+${number}`;
        }
        cursor = next.toString();
        if (cursor === '0') return;
      }
    },
    /** Of each number whether it is suppressed now. */
    async areSuppressed(numbers: readonly string[]): Promise<boolean[]> {
      const found: boolean[] = [];
      for (const batch of batches(numbers)) {
        for (const isMember of await redis.smismember(key, ...packed(batch))) found.push(isMember === 1);
      }
      return found;
    },
  };
}

/** See {@link suppression}. */
export type Suppression = ReturnType<typeof suppression>;

/** A double holds every integer of 15 digits exactly, and E.164 allows no more. */
function packed(numbers: readonly string[]): Buffer[] {
  const bytes = Buffer.allocUnsafe(numbers.length * PACKED_BYTES);
  return numbers.map((number, at) => {
    const start = at * PACKED_BYTES;
    bytes.writeDoubleBE(Number(number), start);
    return bytes.subarray(start, start + PACKED_BYTES);
  });
}

function* batches(numbers: Iterable<string>): Generator<string[]> {
  let batch: string[] = [];
  for (const number of numbers) {
    batch.push(number);
    if (batch.length < AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
