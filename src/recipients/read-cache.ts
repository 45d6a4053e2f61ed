import { LRUCache } from 'lru-cache';

/** Returns the value of a key, from the cache or by `read`. */
type ReadCache<Value> = (key: string, read: () => Promise<Value>) => Promise<Value>;

/**
 * Makes a cache of the `max` values used most recently, for values that never change. Calls for a key that is being read share
 * that read. A failed read is not kept.
 */
export function createReadCache<Value>(max: number): ReadCache<Value> {
  // Made on first use: the cache allocates room for all its values, and most lanes of a large fleet are idle.
  let cache: LRUCache<string, Promise<Value>> | undefined;
  return (key, read) => {
    cache ??= new LRUCache({ max });
    const known = cache.get(key);
    if (known !== undefined) return known;
    const reading = read();
    cache.set(key, reading);
    reading.catch(() => cache?.delete(key));
    return reading;
  };
}
