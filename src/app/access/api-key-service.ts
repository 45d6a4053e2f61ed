import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import { jsonOrUndefined } from '../../base/json.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { NotFoundError } from '../../campaign/errors/errors.js';
import { allLimits } from '../../campaign/limits/limits.js';
import { type Actor, describeActor } from '../../campaign/states/actor.js';
import { API_SCOPES, type ApiKey, type KeyLife } from '../../campaign/states/api-key.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { createDigests, type DigestMaker } from '../../service/auth/seal.js';
import type { ApiKeys } from './api-keys.js';
import { keyDetails } from './key-details.js';
import { DEFAULT_MAX_SUPPRESSIONS, managingKeys } from './manage-keys.js';
import type { RefusedKeys } from './refused-keys.js';
import { revokedKeys } from './revoked-keys.js';
import { isSession, LONGEST_MS, newId, type Session, sessionStore } from './sessions.js';
import { anyKey, replaceKey, type StoredKey, signedText, storedKey, type UnsignedKey } from './stored-key.js';
import { isOnLanes } from './within-key.js';

/** `vk_`, `test_` for a test key, the id, and the secret: 32 random bytes in base64url. */
const KEY_FORMAT = /^vk_(?<test>test_)?(?<id>[0-9a-f]{12})_(?<secret>[A-Za-z0-9_-]{43})$/;
/** The last use is recorded at most once in this time, so that checking a key stays cheap. */
const RECORD_USE_EVERY_MS = 60_000;
/** A client that waits for its key to be checked learns quickly that Redis does not respond. */
const CHECK_PATIENCE = { answerWithinMs: 3_000, tries: 1 };
/** The digest an unknown key is compared with, so that the comparison takes as long as for a known one. */
const NO_DIGEST = '';

/** A key that is valid with one of its secrets. `at`: which one; `secretMaker`: what made its digest. */
interface Valid extends StoredKey {
  readonly key: UnsignedKey;
  readonly at: number;
  readonly secretMaker: DigestMaker;
}

interface ApiKeyDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'known' | 'nameOf'>;
  readonly clock: Clock;
  readonly events: Events;
  readonly refused: RefusedKeys;
  /** The operator that acts for an actor. */
  readonly operatorOf: (actor: Actor) => Pick<Operator, 'audited'>;
  /** All processes need the same; see {@link createDigests}. */
  readonly secretsKey: string | undefined;
  readonly previousSecretsKey?: string | undefined;
  /** Of the prices. */
  readonly currency: string | undefined;
  /** Requests that a key without a limit of its own may make a minute. */
  readonly requestsPerMinute: number;
}

const noSuchKey = (id: string): NotFoundError =>
  new NotFoundError(`there is no key ${id}; \`volley keys list\` shows all keys`);

/**
 * Opens the API keys; `apiKeys(by)` are those that `by` manages. `cancelCampaigns` cancels the campaigns of a key.
 */
export function apiKeyService(deps: ApiKeyDeps) {
  const { redis, keys, finder, clock, events, refused, secretsKey, previousSecretsKey } = deps;
  const sessions = sessionStore(deps);
  const secretDigests = createDigests(secretsKey, previousSecretsKey, 'secrets of API keys');
  const recordDigests = createDigests(secretsKey, previousSecretsKey, 'records of API keys');
  const revoked = revokedKeys(redis, keys, recordDigests);
  /** A stored key, JSON, and what it says; null if it is not authentic, or was restored after it had been revoked. */
  const opened = (id: string, json: string, isRevoked: boolean): StoredKey => {
    const parsed = storedKey.safeParse(jsonOrUndefined(json)).data;
    const maker =
      parsed === undefined || isRevoked ? null : recordDigests.makerOf(signedText(id, parsed), parsed.mac);
    return { id, json, key: maker === null || parsed === undefined ? null : parsed, maker };
  };
  const read = async (id: string): Promise<StoredKey | null> => {
    const [json, isRevoked] = await Promise.all([redis.hget(keys.apiKeys, id), revoked.has(id)]);
    return json === null ? null : opened(id, json, isRevoked);
  };
  const isOver = (until: number | null): boolean => until !== null && until <= clock();
  const signed = (id: string, key: UnsignedKey): string =>
    JSON.stringify({ ...key, mac: recordDigests.of(signedText(id, key)) });
  const newSecret = (
    id: string,
    { lifetime, limits }: Pick<UnsignedKey, 'lifetime' | 'limits'>,
    endsBy: number | null = null,
  ) => {
    const secret = randomBytes(32).toString('base64url');
    const never = Number.POSITIVE_INFINITY;
    const end = Math.min(lifetime === null ? never : clock() + lifetime, endsBy ?? never);
    const until = end === never ? null : end;
    const prefix = limits.test ? 'vk_test_' : 'vk_';
    return {
      text: `${prefix}${id}_${secret}`,
      stored: { digest: secretDigests.of(`${id} ${secret}`), until },
    };
  };
  const isoOrNull = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
  const viewOf = async ({ id, json, key, maker }: StoredKey, used?: string): Promise<ApiKey> => {
    const { name, scopes, lanes, created } = key ?? anyKey.parse(jsonOrUndefined(json));
    const { createdBy = null } = key ?? {};
    const [current, ...former] = key?.secrets ?? [];
    const formerUntil = Math.max(0, ...former.map(({ until }) => until ?? 0));
    return {
      id,
      name,
      scopes: API_SCOPES.filter((scope) => scopes.includes(scope)),
      lanes: lanes === null ? null : await Promise.all(lanes.map(finder.nameOf)),
      state: current === undefined ? 'invalid' : isOver(current.until) ? 'expired' : 'active',
      createdAt: new Date(created).toISOString(),
      createdBy,
      expiresAt: isoOrNull(current?.until ?? null),
      oldSecretUntil: isOver(formerUntil) ? null : isoOrNull(formerUntil),
      needsPreviousKey: maker === 'previous',
      maxSuppressions: key?.maxSuppressions ?? 0,
      ...allLimits(key?.limits ?? {}),
      test: key?.limits.test ?? false,
      session: key?.session ?? false,
      lastUsedAt: used === undefined ? null : new Date(Number(used)).toISOString(),
    };
  };
  const recordedAt = new Map<string, number>();
  /** The last uses have a hash of their own because they are written far more often than the keys. */
  const recordUse = async (id: string, session?: Session): Promise<void> => {
    const [now, of] = [clock(), session?.id ?? id];
    if (now - (recordedAt.get(of) ?? 0) < RECORD_USE_EVERY_MS) return;
    recordedAt.set(of, now);
    await Promise.all([redis.hset(keys.apiKeysUsed, id, now), session && sessions.used(session)]);
  };
  const require = async (id: string): Promise<StoredKey> => {
    const stored = await read(id);
    if (stored !== null) return stored;
    throw noSuchKey(id);
  };
  /**
   * What is stored of a key, if it is valid with a secret; null if not. `digest`: that of the secret, as it is made now; `makerOf`: what made
   * another one of the same secret.
   */
  const validWith = async (
    id: string,
    digest: string,
    makerOf: (digest: string) => DigestMaker | null,
  ): Promise<Valid | null> => {
    const hasEnded = (one: string): Promise<boolean> =>
      untilAnswered(() => revoked.hasEnded(id, one, clock()), CHECK_PATIENCE);
    // Redis is read every time, so a revoked key stops working immediately.
    const reading = untilAnswered(() => read(id), CHECK_PATIENCE);
    const [stored, isEnded] = await Promise.all([reading, hasEnded(digest)]);
    const secrets = stored?.key?.secrets ?? [{ digest: NO_DIGEST, until: null }];
    const made = secrets.map((one) => {
      const maker = makerOf(one.digest);
      return isOver(one.until) ? null : maker;
    });
    const at = made.findIndex((maker) => maker !== null);
    const secretMaker = made[at];
    if (stored === null || stored.key === null || !secretMaker || isEnded) return null;
    // The tombstone may be of the digest that is stored, which the previous SECRETS_KEY has made.
    if (secretMaker !== 'current' && (await hasEnded(secrets[at]?.digest ?? NO_DIGEST))) return null;
    return { ...stored, key: stored.key, at, secretMaker };
  };
  /** What is stored of the key with this text; null if it is not a valid key. */
  const validKey = async (text: string): Promise<Valid | null> => {
    const { id, secret, test } = KEY_FORMAT.exec(text)?.groups ?? {};
    if (id === undefined || secret === undefined) return null;
    const idAndSecret = `${id} ${secret}`;
    const valid = await validWith(id, secretDigests.of(idAndSecret), (digest) =>
      secretDigests.makerOf(idAndSecret, digest),
    );
    return (test !== undefined) === (valid?.key.limits.test ?? false) ? valid : null;
  };
  /** The session with this text, and what is stored of its key; null if either is not valid. */
  const validSession = async (text: string): Promise<(Valid & { readonly session: Session }) | null> => {
    const session = await sessions.read(text);
    if (session === null) return null;
    const valid = await validWith(session.key, session.secret, (digest) =>
      digest === session.secret ? 'current' : null,
    );
    return valid && { ...valid, session };
  };
  /** Makes the digests of a key again that the previous SECRETS_KEY has made. */
  const remake = async (text: string, valid: Valid): Promise<void> => {
    const { id, json: before, key, maker, at, secretMaker } = valid;
    if (maker === 'current' && secretMaker === 'current') return;
    const idAndSecret = `${id} ${KEY_FORMAT.exec(text)?.groups?.['secret']}`;
    const secrets = key.secrets.map((one, index) =>
      index === at ? { ...one, digest: secretDigests.of(idAndSecret) } : one,
    );
    const after = signed(id, { ...key, secrets });
    await replaceKey(redis, keys, { id, before, after });
  };

  /** Whether a key was made for a session that has ended. */
  const hasLeft = async ({ id, key }: StoredKey): Promise<boolean> =>
    key?.session === true && !(await sessions.isOpen(id));
  /** Removes the keys of sessions that have ended. Nothing can use them. */
  const removeLeft = async (): Promise<void> => {
    for (const [id, json] of Object.entries(await redis.hgetall(keys.apiKeys)))
      if (await hasLeft(opened(id, json, false))) await redis.hdel(keys.apiKeys, id);
  };
  /** Stores a new key, in the name of an operator. */
  const add = async (id: string, key: UnsignedKey, by: Pick<Operator, 'audited'>, actor: string) => {
    const names = key.lanes && (await Promise.all(key.lanes.map(finder.nameOf)));
    const allowed = { scopes: key.scopes.join(','), lanes: names?.join(',') ?? 'all lanes' };
    const details = { key: id, name: key.name, ...allowed };
    const json = signed(id, key);
    await by.audited({ action: 'key.create', details }, () => redis.hset(keys.apiKeys, id, json));
    events.emit({ type: 'key.created', ...details, actor });
    return viewOf({ id, json, key, maker: 'current' });
  };
  /** Begins a session with a key of its own, in the name of the actor who made the link. */
  const signInWithLink = async (text: string): Promise<string | null> => {
    const link = await sessions.takeLink(text);
    if (link === null) return null;
    const { actor, scopes } = link;
    const id = newId();
    const lifetime = LONGEST_MS;
    const { stored } = newSecret(id, { lifetime, limits: {} });
    // Before the key: a key without its session is removed.
    const session = await sessions.begin(id, stored.digest, id);
    const name = [...actor.name].slice(0, 100).join('');
    const key: UnsignedKey = {
      ...{ name, scopes, lanes: null, created: clock(), lifetime, limits: {}, session: true },
      maxSuppressions: DEFAULT_MAX_SUPPRESSIONS,
      secrets: [stored],
    };
    await add(id, key, deps.operatorOf(actor), describeActor(actor));
    removeLeft().catch(() => {});
    return session;
  };

  /** A key whose record may have been restored after a rotation had replaced its secret: then it is invalid. */
  const unlessReplaced = async (stored: StoredKey): Promise<StoredKey> => {
    const [current] = stored.key?.secrets ?? [];
    const isReplaced = current !== undefined && (await revoked.hasEnded(stored.id, current.digest, clock()));
    return isReplaced ? { ...stored, key: null } : stored;
  };
  /** A key as it is listed. */
  const listedView = async (stored: StoredKey, used?: string): Promise<ApiKey> =>
    viewOf(await unlessReplaced(stored), used);

  const shared: Omit<ApiKeys, 'create' | 'createLink' | 'rotate' | 'set' | 'revoke'> = {
    async list({ lanes } = {}) {
      const [all, used] = await Promise.all([redis.hgetall(keys.apiKeys), redis.hgetall(keys.apiKeysUsed)]);
      const views = await Promise.all(
        Object.entries(all).map(async ([id, json]) => {
          const stored = opened(id, json, await revoked.has(id));
          return (await hasLeft(stored)) ? [] : [await listedView(stored, used[id])];
        }),
      );
      const seen = views.flat().filter((view) => isOnLanes(view, lanes));
      return seen.sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
    },

    async get(id, { lanes } = {}) {
      const [stored, used] = await Promise.all([require(id), redis.hget(keys.apiKeysUsed, id)]);
      const view = await listedView(stored, used ?? undefined);
      if (!isOnLanes(view, lanes)) throw noSuchKey(id);
      return keyDetails(deps, view);
    },

    async check(text) {
      const session = isSession(text) ? await validSession(text) : null;
      const valid = session ?? (await validKey(text));
      if (valid === null) return null;
      // The key is valid even if its use cannot be recorded.
      recordUse(valid.id, session?.session).catch(() => {});
      if (session === null) remake(text, valid).catch(() => {});
      return viewOf(valid);
    },

    refused: refused.count,

    async isActive(text) {
      if (!isSession(text)) return (await validKey(text)) !== null;
      const valid = await validSession(text);
      // A stream asks again and again: a page that only watches uses its session.
      if (valid !== null) recordUse(valid.id, valid.session).catch(() => {});
      return valid !== null;
    },

    async sessionEnd(text) {
      const valid = await validSession(text);
      if (valid === null) return null;
      const { until } = valid.key.secrets[valid.at] ?? { until: null };
      return new Date(Math.min(valid.session.endsAt, until ?? Number.POSITIVE_INFINITY)).toISOString();
    },

    async signIn(by) {
      if ('link' in by) return signInWithLink(by.link);
      const valid = await validKey(by.key);
      return valid && sessions.begin(valid.id, valid.key.secrets[valid.at]?.digest ?? NO_DIGEST);
    },

    signOut: (text) => sessions.end(text),
  };

  const managing = managingKeys({
    ...deps,
    require,
    read,
    revoked,
    sessions,
    newSecret,
    signed,
    add,
    viewOf,
    shared,
  });
  const lifeOf = async (id: string): Promise<KeyLife> => {
    const [found, isRevoked] = await Promise.all([read(id), revoked.has(id)]);
    if (isRevoked) return { state: 'revoked', until: null };
    // Nothing stays of the key of a session that has ended.
    if (found === null || (await hasLeft(found))) return { state: 'expired', until: null };
    const [current] = (await unlessReplaced(found)).key?.secrets ?? [];
    if (current === undefined) return { state: 'invalid', until: null };
    return { state: isOver(current.until) ? 'expired' : 'active', until: current.until };
  };
  return Object.assign(managing, {
    lifeOf,
    get: shared.get,
    /** The name and the limits of a key; null if there is none. */
    async limitsOf(id: string): Promise<Pick<UnsignedKey, 'name' | 'limits'> | null> {
      return (await read(id))?.key ?? null;
    },
  });
}
