import { z } from 'zod';
import type { Digests } from '../auth/seal.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';

const noteScript = loadScript(import.meta.url, './note-revoked.lua', () => undefined);
/** When a key was revoked, ms, and what authenticates that. */
const tombstone = z.tuple([z.number(), z.string()]);

/**
 * The revoked API keys. Each leaves a tombstone for ever, so that its record does not work again if it is restored from a backup. The
 * tombstones are a hash of their own, which a restore of the records leaves alone. Only this installation can make one.
 */
export function revokedKeys(redis: Redis, keys: Keys, digests: Digests) {
  const signed = (id: string, at: number): string => JSON.stringify(['revoked', id, at]);
  const isAuthentic = (id: string, stored: string | null): boolean => {
    const found = stored === null ? undefined : tombstone.safeParse(JSON.parse(stored)).data;
    return found !== undefined && digests.makerOf(signed(id, found[0]), found[1]) !== null;
  };
  return {
    async add(id: string, at: number): Promise<void> {
      const stone = JSON.stringify([at, digests.of(signed(id, at))]);
      await noteScript.run(redis, { revoked: keys.apiKeysRevoked }, { id, tombstone: stone });
    },
    has: async (id: string): Promise<boolean> => isAuthentic(id, await redis.hget(keys.apiKeysRevoked, id)),
  };
}
