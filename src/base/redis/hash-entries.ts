import type { Redis } from './connection.js';

/**
 * The fields of a hash with their values, read some at a time, so that even a very big one does not block Redis. A field that is stored or
 * changed meanwhile may be missing, or come twice.
 */
export async function* hashEntries(
  redis: Redis,
  key: string,
  readAtOnce = 100,
): AsyncGenerator<readonly [field: string, value: string]> {
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(key, cursor, 'COUNT', readAtOnce);
    for (let at = 0; at + 1 < flat.length; at += 2) yield [flat[at] ?? '', flat[at + 1] ?? ''];
    cursor = next;
  } while (cursor !== '0');
}
