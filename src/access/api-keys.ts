import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { InputError, NotFoundError } from '../campaign/errors.js';
import { API_SCOPES, type ApiKey } from '../campaign/views.js';
import type { Clock } from '../clock.js';
import { noSuchLane } from '../lane/lane.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { untilAnswered } from '../redis/until-answered.js';
import type { Volley } from '../volley.js';
import { apiKeyStore, type StoredApiKey } from './api-key-store.js';

/** `vk_`, the id, and the secret: 32 random bytes in base64url. */
const FORM = /^vk_(?<id>[0-9a-f]{12})_(?<secret>[A-Za-z0-9_-]{43})$/;
const MOST_LETTERS = 100;
/** When a key was used last is told no closer than this, so that using it costs next to nothing. */
const TOUCH_EVERY_MS = 60_000;
/** Whoever waits at the door is told soon that nobody answers. */
const PATIENCE = { answerWithinMs: 3_000, tries: 1 };
/** What a key is compared with that does not exist, so that it takes as long. */
const NOBODYS = Buffer.alloc(32);

/** What {@link apiKeyDesk} goes by. */
export interface ApiKeyDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lanes: ReadonlyMap<string, unknown>;
  readonly clock: Clock;
}

/** Makes, lists, revokes and checks the keys to the HTTP API. */
export function apiKeyDesk({ redis, keys, lanes, clock }: ApiKeyDeps): Volley['keys'] {
  const store = apiKeyStore(redis, keys);
  const touched = new Map<string, number>();
  const touch = async (id: string): Promise<void> => {
    const now = clock();
    if (now - (touched.get(id) ?? 0) < TOUCH_EVERY_MS) return;
    touched.set(id, now);
    await store.touch(id, now);
  };
  return {
    async create({ name, scopes, lanes: only }) {
      if (name.trim() === '' || name.length > MOST_LETTERS) {
        throw new InputError(`a key needs a name of up to ${MOST_LETTERS} letters, for people`);
      }
      if (scopes.length === 0) {
        throw new InputError(`a key needs a scope: some of ${API_SCOPES.join(', ')}`);
      }
      const missing = only?.find((lane) => !lanes.has(lane));
      if (missing !== undefined) {
        throw noSuchLane(missing, lanes.keys());
      }
      const id = randomBytes(6).toString('hex');
      const secret = randomBytes(32).toString('base64url');
      const made: StoredApiKey = {
        id,
        name: name.trim(),
        digest: digestOf(secret).toString('base64url'),
        scopes: API_SCOPES.filter((scope) => scopes.includes(scope)),
        lanes: only === undefined ? null : [...new Set(only)],
        created: clock(),
        used: null,
      };
      await store.add(made);
      return { ...shown(made), key: `vk_${id}_${secret}` };
    },

    list: async () => (await store.list()).map(shown),

    async revoke(id) {
      if (await store.remove(id)) return;
      throw new NotFoundError(`there is no key ${id}; \`volley keys list\` shows those there are`);
    },

    async check(key) {
      const groups = FORM.exec(key)?.groups;
      const [id, secret] = [groups?.['id'], groups?.['secret']];
      if (id === undefined || secret === undefined) return null;
      // Asked each time: a key that was revoked opens nothing from that moment on.
      const found = await untilAnswered(() => store.get(id), PATIENCE);
      const wanted = found === null ? NOBODYS : Buffer.from(found.digest, 'base64url');
      const isSame = timingSafeEqual(digestOf(secret), wanted);
      if (found === null || !isSame) return null;
      // It may fail: the key is good all the same.
      touch(id).catch(() => {});
      return shown(found);
    },

    stands: async (id) => (await store.get(id)) !== null,
  };
}

/** The secret is random and long, so a plain digest is not to be guessed back; a slow one would only cost time. */
function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function shown({ id, name, scopes, lanes, created, used }: StoredApiKey): ApiKey {
  return {
    id,
    name,
    scopes: API_SCOPES.filter((scope) => scopes.includes(scope)),
    lanes,
    createdAt: new Date(created).toISOString(),
    lastUsedAt: used === null ? null : new Date(used).toISOString(),
  };
}
