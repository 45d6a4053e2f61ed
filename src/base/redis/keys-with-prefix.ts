import type { Redis } from './connection.js';
import { mastersOf } from './durability.js';

/** Every key that begins with the prefix, plain or as a hash tag: `prefix…` or `{prefix…`; of a cluster, on every node. */
export async function keysOf(redis: Redis, prefix: string): Promise<string[]> {
  const matching: string[] = [];
  for (const node of await mastersOf(redis)) {
    for (const pattern of [`${prefix}*`, `{${prefix}*`]) {
      const batches: AsyncIterable<string[]> = node.scanStream({ match: pattern, count: 1_000 });
      for await (const keys of batches) matching.push(...keys);
    }
  }
  return matching;
}

/** Deletes them, one by one, because a cluster accepts no command with keys of several slots. */
export async function deleteKeys(redis: Redis, prefix: string): Promise<void> {
  const keys = await keysOf(redis, prefix);
  await Promise.all(keys.map((key) => redis.unlink(key)));
}
