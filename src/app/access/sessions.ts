import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../base/clock.js';
import { jsonOrUndefined } from '../../base/json.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { actor } from '../../campaign/states/actor.js';
import { API_SCOPES } from '../../campaign/states/api-key.js';
import { createDigests } from '../../service/auth/seal.js';

/*
 * The sessions of the console, and the links that begin one. A session stands for an API key: it can do what the key can, for as long as the
 * key can. Redis stores digests of their secrets, under keys with a lifetime. Each digest is of everything that is stored beside it, too, so
 * with SECRETS_KEY, write access to Redis neither creates a session nor changes one.
 */

const HOUR_MS = 3_600_000;
/** Without a request for so long, a session ends. */
const IDLE_MS = 12 * HOUR_MS;
/** A session ends so long after its beginning, however much it is used. */
export const LONGEST_MS = 7 * 24 * HOUR_MS;
/** How long a link can be used. */
const LINK_MS = HOUR_MS / 6;
/** What checks a session waits for Redis. */
const PATIENCE = { answerWithinMs: 3_000, tries: 1 };

const SESSION_FORMAT = /^vs_(?<id>[0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;
const LINK_FORMAT = /^vl_[A-Za-z0-9_-]{43}$/;

const storedSession = z.object({
  /** The id of its API key, and the digest of the secret of that key which it began with. */
  key: z.string(),
  secret: z.string(),
  began: z.number(),
});
type StoredSession = z.output<typeof storedSession>;
/** A session that has not ended. `endsAt`: when it does at the latest, if it is not used any more, ms. */
export interface Session extends StoredSession {
  readonly id: string;
  readonly endsAt: number;
}

const storedLink = z.object({
  /** Who made it, and so who signs in with it. */
  actor,
  scopes: z.array(z.enum(API_SCOPES)),
  madeAt: z.number(),
});
type StoredLink = z.output<typeof storedLink>;

const withDigest = z.object({ digest: z.string() });

interface SessionDeps {
  readonly redis: Redis;
  readonly keys: Pick<Keys, 'session' | 'signInLink'>;
  readonly clock: Clock;
  readonly secretsKey: string | undefined;
  readonly previousSecretsKey?: string | undefined;
}

/** Whether a text may be that of a session. */
export const isSession = (text: string): boolean => SESSION_FORMAT.test(text);

/** An id for a key or a session. */
export const newId = (): string => randomBytes(6).toString('hex');

const newSecret = (): string => randomBytes(32).toString('base64url');

/** Opens the sessions of an installation. */
export function sessionStore({ redis, keys, clock, secretsKey, previousSecretsKey }: SessionDeps) {
  const digests = createDigests(secretsKey, previousSecretsKey, 'sessions of the console');
  const textOf = (text: string, { key, secret, began }: StoredSession): string =>
    JSON.stringify([text, key, secret, began]);
  const linkTextOf = (text: string, { actor: by, scopes, madeAt }: StoredLink): string =>
    JSON.stringify([text, by.kind, by.id, by.name, scopes, madeAt]);
  const idOf = (text: string): string => SESSION_FORMAT.exec(text)?.groups?.['id'] ?? '';
  /** What Redis has of a link is found by a plain digest, which says nothing about the link and needs no key. */
  const linkKey = (text: string): string =>
    keys.signInLink(createHash('sha256').update(text).digest('base64url'));
  const leftMs = (began: number): number => Math.min(IDLE_MS, began + LONGEST_MS - clock());
  const isGenuine = (text: string, json: unknown): boolean =>
    digests.makerOf(text, withDigest.safeParse(json).data?.digest ?? '') !== null;

  return {
    /** Begins a session of the key with this id and digest of its secret. `id`: of the session. Returns its text. */
    async begin(key: string, secret: string, id = newId()): Promise<string> {
      const text = `vs_${id}_${newSecret()}`;
      const session = { key, secret, began: clock() };
      const stored = JSON.stringify({ ...session, digest: digests.of(textOf(text, session)) });
      await redis.set(keys.session(id), stored, 'PX', leftMs(session.began));
      return text;
    },

    /** Returns the session with this text; null if it is unknown or has ended. */
    async read(text: string): Promise<Session | null> {
      const id = idOf(text);
      const json = id === '' ? null : await untilAnswered(() => redis.get(keys.session(id)), PATIENCE);
      const stored = jsonOrUndefined(json ?? '');
      const session = storedSession.safeParse(stored).data;
      if (session === undefined || !isGenuine(textOf(text, session), stored)) return null;
      const left = leftMs(session.began);
      return left > 0 ? { ...session, id, endsAt: clock() + left } : null;
    },

    /** Counts as a use: the session does not end for want of requests before another {@link IDLE_MS}. */
    async used({ id, began }: Session): Promise<void> {
      await redis.pexpire(keys.session(id), Math.max(1, leftMs(began)));
    },

    /** Ends the session with this text, if there is one. */
    async end(text: string): Promise<void> {
      if ((await this.read(text)) !== null) await redis.del(keys.session(idOf(text)));
    },

    /** Whether there is a session with this id. */
    isOpen: async (id: string): Promise<boolean> => (await redis.exists(keys.session(id))) === 1,

    /** Makes a link. Returns its text, and when it ends, ms. */
    async makeLink(by: StoredLink['actor'], scopes: StoredLink['scopes']) {
      const text = `vl_${newSecret()}`;
      const link = { actor: by, scopes, madeAt: clock() };
      const stored = JSON.stringify({ ...link, digest: digests.of(linkTextOf(text, link)) });
      await redis.set(linkKey(text), stored, 'PX', LINK_MS);
      return { text, endsAt: link.madeAt + LINK_MS };
    },

    /** Uses up a link. Returns what it says; null if it is unknown, was used, or has ended. */
    async takeLink(text: string): Promise<StoredLink | null> {
      if (!LINK_FORMAT.test(text)) return null;
      // In one step, so that of two requests one gets it.
      const stored = jsonOrUndefined((await redis.getdel(linkKey(text))) ?? '');
      const link = storedLink.safeParse(stored).data;
      if (link === undefined || !isGenuine(linkTextOf(text, link), stored)) return null;
      return link.madeAt + LINK_MS > clock() ? link : null;
    },
  };
}

/** See {@link sessionStore}. */
export type SessionStore = ReturnType<typeof sessionStore>;
