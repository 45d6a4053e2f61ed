import { z } from 'zod';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';

/** What is kept of a key to the HTTP API: never the key itself. */
export interface StoredApiKey {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the secret part, base64url. */
  readonly digest: string;
  readonly scopes: readonly string[];
  /** The only lanes it may see; null: all. */
  readonly lanes: readonly string[] | null;
  /** Times in ms since the epoch; `used` is null before the first use, and a minute late at most. */
  readonly created: number;
  readonly used: number | null;
}

const stored = z.object({
  name: z.string(),
  digest: z.string(),
  scopes: z.array(z.string()),
  lanes: z.array(z.string()).nullable(),
  created: z.number(),
});

/** The keys to the HTTP API. When each was used last lies in a hash of its own, as it is written all the time. */
export function apiKeyStore(redis: Redis, keys: Keys) {
  const read = (id: string, json: string, used: string | null | undefined): StoredApiKey => ({
    id,
    ...stored.parse(JSON.parse(json)),
    used: used === null || used === undefined ? null : Number(used),
  });
  return {
    async add({ id, used: _, ...key }: StoredApiKey): Promise<void> {
      await redis.hset(keys.apiKeys, id, JSON.stringify(key));
    },
    async get(id: string): Promise<StoredApiKey | null> {
      const json = await redis.hget(keys.apiKeys, id);
      return json === null ? null : read(id, json, null);
    },
    /** In the order of their making. */
    async list(): Promise<StoredApiKey[]> {
      const [all, used] = await Promise.all([redis.hgetall(keys.apiKeys), redis.hgetall(keys.apiKeysUsed)]);
      return Object.entries(all)
        .map(([id, json]) => read(id, json, used[id]))
        .sort((a, b) => a.created - b.created);
    },
    /** False if there was none. */
    async remove(id: string): Promise<boolean> {
      const removed = await redis.hdel(keys.apiKeys, id);
      await redis.hdel(keys.apiKeysUsed, id);
      return removed === 1;
    },
    async touch(id: string, at: number): Promise<void> {
      await redis.hset(keys.apiKeysUsed, id, at);
    },
  };
}
