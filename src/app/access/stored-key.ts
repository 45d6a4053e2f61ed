import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { keyLimits, limitsAmong } from '../../campaign/limits/limits.js';
import type { DigestMaker } from '../../service/auth/seal.js';

/** What Redis stores about a key, in a hash by id: never the key itself. Times in ms since the epoch. */
const unsigned = z.object({
  name: z.string(),
  scopes: z.array(z.string()),
  /** The ids of the only lanes the key may use; null: all lanes. A key stays with its lanes when they are renamed. */
  lanes: z.array(z.string()).nullable(),
  created: z.number(),
  /** The key that made it; undefined if none did. */
  createdBy: z.object({ id: z.string(), name: z.string() }).optional(),
  /** How long a secret lives, ms; null: for ever. */
  lifetime: z.number().nullable(),
  maxSuppressions: z.number(),
  limits: keyLimits,
  /** Whether it was made by a sign-in link, for one session of the console: then it ends with it, and nothing knows its secret. */
  session: z.literal(true).optional(),
  /** The current secret, and after rotations those before it. `digest`: of id and secret. `until`: when it ends. */
  secrets: z.array(z.object({ digest: z.string(), until: z.number().nullable() })).min(1),
});
export type UnsignedKey = z.output<typeof unsigned>;
/** `mac`: authenticates all other fields, so that write access to Redis neither creates a key nor extends one. */
export const storedKey = unsigned.extend({ mac: z.string() });

/** What Redis has about a key. `key`: what it says; null if that cannot be trusted. */
export interface StoredKey {
  readonly id: string;
  readonly json: string;
  readonly key: UnsignedKey | null;
  /** What made its MAC; null if it cannot be trusted. */
  readonly maker: DigestMaker | null;
}

const replaceScript = loadScript(import.meta.url, './replace-key.lua', (reply) => reply === 1);

/** Replaces the record of a key. False if it was changed meanwhile. */
export const replaceKey = (
  redis: Redis,
  keys: Pick<Keys, 'apiKeys'>,
  change: { readonly id: string; readonly before: string; readonly after: string },
): Promise<boolean> => replaceScript.run(redis, { apiKeys: keys.apiKeys }, change);

/** What is shown of a key whose record is damaged. */
export const anyKey = unsigned
  .pick({ name: true, scopes: true, lanes: true, created: true })
  .catch({ name: 'damaged', scopes: [], lanes: [], created: 0 });

/** What the MAC of a key authenticates. */
export function signedText(id: string, key: UnsignedKey): string {
  const {
    name,
    scopes,
    lanes,
    created,
    lifetime,
    maxSuppressions,
    secrets,
    session = false,
    createdBy,
  } = key;
  const all = secrets.map(({ digest, until }) => [digest, until]);
  const limits = limitsAmong(key.limits);
  const first = [id, name, scopes, lanes, created, lifetime, maxSuppressions, all, limits, session];
  return JSON.stringify(createdBy === undefined ? first : [...first, createdBy.id, createdBy.name]);
}
