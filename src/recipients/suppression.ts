import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';

/** Numbers per command: enough to add a million in seconds, few enough not to block Redis. */
const NUMBERS_PER_COMMAND = 1000;
const PACKED_BYTES = 8;

/** The stored set of suppressed numbers, which are never sent to. All numbers are E.164 with their plus. */
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
    /** Returns how many numbers are new. */
    add: (numbers: Iterable<string>): Promise<number> =>
      inBatches(numbers, (batch) => redis.sadd(key, ...batch)),
    /** Returns how many of the numbers were in the set. */
    remove: (numbers: Iterable<string>): Promise<number> =>
      inBatches(numbers, (batch) => redis.srem(key, ...batch)),
    count: (): Promise<number> => redis.scard(key),
    /** Every number once, in no particular order. A number added or removed meanwhile may or may not appear. */
    async *list(): AsyncGenerator<string> {
      // A scan may return a number twice while Redis resizes the set.
      const seen = new Set<number>();
      for (let cursor = '0'; ; ) {
        const [next, members] = await redis.sscanBuffer(key, cursor, 'COUNT', NUMBERS_PER_COMMAND);
        for (const member of members) {
          const number = member.readDoubleBE();
          if (seen.size !== seen.add(number).size) yield `+${number}`;
        }
        cursor = next.toString();
        if (cursor === '0') return;
      }
    },
    /** Whether each number is suppressed now. */
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

/** Packs each number into a double, which holds every integer of 15 digits exactly; E.164 allows no more. */
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
    if (batch.length < NUMBERS_PER_COMMAND) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
