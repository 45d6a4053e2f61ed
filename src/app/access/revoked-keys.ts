import { z } from 'zod';
import { jsonOrUndefined } from '../../base/json.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import type { Digests } from '../../service/auth/seal.js';

const noteScript = loadScript(import.meta.url, './note-revoked.lua', () => undefined);
/** When a key was revoked, or a secret ends, ms, and what authenticates that. */
const tombstone = z.tuple([z.number(), z.string()]);

/**
 * The revoked API keys, and the secrets that a rotation replaced. Each leaves a tombstone for ever, so that its record does not work again
 * if it is restored from a backup. The tombstones are a hash of their own, which a restore of the records leaves alone. Only this
 * installation can make one.
 */
export function revokedKeys(redis: Redis, keys: Keys, digests: Digests) {
  const fieldOf = (id: string, secret: string): string => `${id} ${secret}`;
  const keyText = (id: string) => (at: number) => JSON.stringify(['revoked', id, at]);
  const secretText = (id: string, secret: string) => (until: number) =>
    JSON.stringify(['secret ends', id, secret, until]);
  const leave = async (field: string, at: number, text: (at: number) => string): Promise<void> => {
    const stone = JSON.stringify([at, digests.of(text(at))]);
    await noteScript.run(redis, { revoked: keys.apiKeysRevoked }, { field, tombstone: stone });
  };
  /** The time on a tombstone; null if there is none, or it is not authentic. */
  const read = async (field: string, text: (at: number) => string): Promise<number | null> => {
    const stored = await redis.hget(keys.apiKeysRevoked, field);
    const parsed = stored === null ? undefined : tombstone.safeParse(jsonOrUndefined(stored)).data;
    return parsed !== undefined && digests.makerOf(text(parsed[0]), parsed[1]) !== null ? parsed[0] : null;
  };
  return {
    add: (id: string, at: number): Promise<void> => leave(id, at, keyText(id)),
    has: async (id: string): Promise<boolean> => (await read(id, keyText(id))) !== null,
    /** Notes when a secret ends, whatever a record says of it. `secret`: its digest. */
    endSecret: (id: string, secret: string, until: number): Promise<void> =>
      leave(fieldOf(id, secret), until, secretText(id, secret)),
    /** Returns whether a secret with this digest has ended. */
    async hasEnded(id: string, secret: string, now: number): Promise<boolean> {
      const until = await read(fieldOf(id, secret), secretText(id, secret));
      return until !== null && until <= now;
    },
  };
}

/** See {@link revokedKeys}. */
export type RevokedKeys = ReturnType<typeof revokedKeys>;
