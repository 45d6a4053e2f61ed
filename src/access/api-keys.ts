import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { API_SCOPES, type ApiKey } from '../campaign/api-key.js';
import { InputError, NotFoundError } from '../campaign/errors.js';
import type { Clock } from '../clock.js';
import type { LaneFinder } from '../lane/lane-finder.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { untilAnswered } from '../redis/until-answered.js';
import type { Volley } from '../volley.js';

/** `vk_`, the id, and the secret: 32 random bytes in base64url. */
const KEY_FORMAT = /^vk_(?<id>[0-9a-f]{12})_(?<secret>[A-Za-z0-9_-]{43})$/;
const MAX_NAME_LENGTH = 100;
/** The last use is recorded at most once in this time, so that checking a key stays cheap. */
const RECORD_USE_EVERY_MS = 60_000;
/** A client that waits for its key to be checked learns quickly that Redis does not respond. */
const CHECK_PATIENCE = { answerWithinMs: 3_000, tries: 1 };
/** The digest an unknown key is compared with, so that the comparison takes as long as for a known one. */
const NO_DIGEST = Buffer.alloc(32);

/** What Redis stores about a key, in a hash by id: never the key itself. */
const storedKey = z.object({
  name: z.string(),
  /** SHA-256 of the secret, base64url. */
  digest: z.string(),
  scopes: z.array(z.string()),
  /** The ids of the only lanes the key may use; null: all lanes. A key stays with its lanes when they are renamed. */
  lanes: z.array(z.string()).nullable(),
  /** In ms since the epoch. */
  created: z.number(),
});
type StoredKey = z.output<typeof storedKey>;

interface ApiKeyDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'named' | 'nameOf'>;
  readonly clock: Clock;
}

/** Creates, lists, revokes, and checks the API keys of the HTTP API. */
export function apiKeyService({ redis, keys, finder, clock }: ApiKeyDeps): Volley['keys'] {
  const read = async (id: string): Promise<StoredKey | null> => {
    const json = await redis.hget(keys.apiKeys, id);
    return json === null ? null : storedKey.parse(JSON.parse(json));
  };
  const viewOf = async (
    id: string,
    { name, scopes, lanes, created }: StoredKey,
    used?: string,
  ): Promise<ApiKey> => ({
    id,
    name,
    scopes: API_SCOPES.filter((scope) => scopes.includes(scope)),
    lanes: lanes === null ? null : await Promise.all(lanes.map(finder.nameOf)),
    createdAt: new Date(created).toISOString(),
    lastUsedAt: used === undefined ? null : new Date(Number(used)).toISOString(),
  });
  const recordedAt = new Map<string, number>();
  /** The last uses have a hash of their own because they are written far more often than the keys. */
  const recordUse = async (id: string): Promise<void> => {
    const now = clock();
    if (now - (recordedAt.get(id) ?? 0) < RECORD_USE_EVERY_MS) return;
    recordedAt.set(id, now);
    await redis.hset(keys.apiKeysUsed, id, now);
  };
  return {
    async create({ name, scopes, lanes: only }) {
      if (name.trim() === '' || name.length > MAX_NAME_LENGTH) {
        throw new InputError(`a key needs a name of 1 to ${MAX_NAME_LENGTH} characters`);
      }
      if (scopes.length === 0) {
        throw new InputError(`a key needs at least one scope: ${API_SCOPES.join(', ')}`);
      }
      const lanes = only === undefined ? null : await Promise.all([...new Set(only)].map(finder.named));
      const id = randomBytes(6).toString('hex');
      const secret = randomBytes(32).toString('base64url');
      const stored: StoredKey = {
        name: name.trim(),
        digest: digestOf(secret).toString('base64url'),
        scopes: API_SCOPES.filter((scope) => scopes.includes(scope)),
        lanes: lanes === null ? null : lanes.map((lane) => lane.id),
        created: clock(),
      };
      await redis.hset(keys.apiKeys, id, JSON.stringify(stored));
      return { ...(await viewOf(id, stored)), key: `vk_${id}_${secret}` };
    },

    async list() {
      const [all, used] = await Promise.all([redis.hgetall(keys.apiKeys), redis.hgetall(keys.apiKeysUsed)]);
      const sorted = Object.entries(all)
        .map(([id, json]) => ({ id, stored: storedKey.parse(JSON.parse(json)) }))
        .sort((a, b) => a.stored.created - b.stored.created);
      return Promise.all(sorted.map(({ id, stored }) => viewOf(id, stored, used[id])));
    },

    async revoke(id) {
      const removed = await redis.hdel(keys.apiKeys, id);
      await redis.hdel(keys.apiKeysUsed, id);
      if (removed === 1) return;
      throw new NotFoundError(`there is no key ${id}; \`volley keys list\` lists the keys`);
    },

    async check(key) {
      const groups = KEY_FORMAT.exec(key)?.groups;
      const [id, secret] = [groups?.['id'], groups?.['secret']];
      if (id === undefined || secret === undefined) return null;
      // Redis is read every time, so a revoked key stops working immediately.
      const found = await untilAnswered(() => read(id), CHECK_PATIENCE);
      const expected = found === null ? NO_DIGEST : Buffer.from(found.digest, 'base64url');
      const isSame = timingSafeEqual(digestOf(secret), expected);
      if (found === null || !isSame) return null;
      // The key is valid even if its use cannot be recorded.
      recordUse(id).catch(() => {});
      return viewOf(id, found);
    },

    isActive: async (id) => (await read(id)) !== null,
  };
}

/** The secret is long and random, so it cannot be guessed from a plain digest; a slow hash would only cost time. */
function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
