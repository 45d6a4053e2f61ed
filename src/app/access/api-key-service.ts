import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import { durationOption, exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { InputError, NotFoundError, throwInputErrors } from '../../campaign/errors/errors.js';
import { allLimits, keyLimits, limitsAmong } from '../../campaign/limits/limits.js';
import { formatAmount } from '../../campaign/limits/price.js';
import { type Actor, describeActor } from '../../campaign/states/actor.js';
import { API_SCOPES, type ApiKey, type KeyLife } from '../../campaign/states/api-key.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { SomeLimits } from '../../campaign/states/limit-values.js';
import type { DisabledBecause, Webhook } from '../../campaign/views/webhook-views.js';
import { storedInDay } from '../../engine/day-limits/daily.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { createDigests, type DigestMaker } from '../../service/auth/seal.js';
import type { ApiKeys, CancelledOfKey } from './api-keys.js';
import type { RefusedKeys } from './refused-keys.js';
import { revokedKeys } from './revoked-keys.js';
import { isSession, LONGEST_MS, newId, type Session, sessionStore } from './sessions.js';
import { storedJson } from './stored-json.js';
import { anyKey, signedText, storedKey, type UnsignedKey } from './stored-key.js';

/** `vk_`, `test_` for a test key, the id, and the secret: 32 random bytes in base64url. */
const KEY_FORMAT = /^vk_(?<test>test_)?(?<id>[0-9a-f]{12})_(?<secret>[A-Za-z0-9_-]{43})$/;
const NAME_FORMAT = /^[^\p{Cc}]{1,100}$/u;
const DAY_MS = 86_400_000;
const DEFAULT_LIFETIME_MS = 365 * DAY_MS;
const DEFAULT_OVERLAP_MS = DAY_MS;
/** Enough for opt-outs that arrive one by one; a key that imports whole lists needs more. */
const DEFAULT_MAX_SUPPRESSIONS = 10_000;
/** The last use is recorded at most once in this time, so that checking a key stays cheap. */
const RECORD_USE_EVERY_MS = 60_000;
/** A client that waits for its key to be checked learns quickly that Redis does not respond. */
const CHECK_PATIENCE = { answerWithinMs: 3_000, tries: 1 };
/** The digest an unknown key is compared with, so that the comparison takes as long as for a known one. */
const NO_DIGEST = '';

/** What Redis has about a key. `key`: what it says; null if that cannot be trusted. */
interface Stored {
  readonly id: string;
  readonly json: string;
  readonly key: UnsignedKey | null;
  /** What made its MAC; null if it cannot be trusted. */
  readonly maker: DigestMaker | null;
}
/** A key that is valid with one of its secrets. `at`: which one; `secretMaker`: what made its digest. */
interface Valid extends Stored {
  readonly key: UnsignedKey;
  readonly at: number;
  readonly secretMaker: DigestMaker;
}
const replaceScript = loadScript(import.meta.url, './replace-key.lua', (reply) => reply === 1);

/** The limits of a new key. Throws an InputError that names those that are not valid. */
function checkedLimits(given: SomeLimits): UnsignedKey['limits'] {
  const checked = keyLimits.safeParse(limitsAmong(given));
  throwInputErrors(
    (checked.error?.issues ?? []).map(({ path: [name], message }) => {
      const field = String(name);
      return new InputError(`\`${field}\` ${message}`, { field });
    }),
  );
  return checked.data ?? {};
}

const NOTHING_CANCELLED: CancelledOfKey = { cancelled: [], emptied: [], shared: [] };

/** The webhooks that a key has added. */
export interface WebhooksOfKey {
  list(key: string): Promise<readonly Webhook[]>;
  disable(key: string, because: DisabledBecause): Promise<void>;
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
}

/**
 * Opens the API keys; `apiKeys(by)` are those that `by` manages. `cancelCampaigns` cancels the campaigns of a key.
 */
export function apiKeyService(deps: ApiKeyDeps) {
  const { redis, keys, finder, clock, events, refused, secretsKey, previousSecretsKey, currency } = deps;
  const sessions = sessionStore(deps);
  const secretDigests = createDigests(secretsKey, previousSecretsKey, 'secrets of API keys');
  const recordDigests = createDigests(secretsKey, previousSecretsKey, 'records of API keys');
  const revoked = revokedKeys(redis, keys, recordDigests);
  /** A stored key, JSON, and what it says; null if it is not authentic, or was restored after it had been revoked. */
  const opened = (id: string, json: string, isRevoked: boolean): Stored => {
    const parsed = storedKey.safeParse(storedJson(json)).data;
    const maker =
      parsed === undefined || isRevoked ? null : recordDigests.makerOf(signedText(id, parsed), parsed.mac);
    return { id, json, key: maker === null || parsed === undefined ? null : parsed, maker };
  };
  const read = async (id: string): Promise<Stored | null> => {
    const [json, isRevoked] = await Promise.all([redis.hget(keys.apiKeys, id), revoked.has(id)]);
    return json === null ? null : opened(id, json, isRevoked);
  };
  const isOver = (until: number | null): boolean => until !== null && until <= clock();
  const signed = (id: string, key: UnsignedKey): string =>
    JSON.stringify({ ...key, mac: recordDigests.of(signedText(id, key)) });
  const newSecret = (id: string, { lifetime, limits }: Pick<UnsignedKey, 'lifetime' | 'limits'>) => {
    const secret = randomBytes(32).toString('base64url');
    const until = lifetime === null ? null : clock() + lifetime;
    const prefix = limits.test ? 'vk_test_' : 'vk_';
    return {
      text: `${prefix}${id}_${secret}`,
      stored: { digest: secretDigests.of(`${id} ${secret}`), until },
    };
  };
  const isoOrNull = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
  const viewOf = async ({ id, json, key, maker }: Stored, used?: string): Promise<ApiKey> => {
    const { name, scopes, lanes, created } = key ?? anyKey.parse(storedJson(json));
    const [current, previous] = key?.secrets ?? [];
    return {
      id,
      name,
      scopes: API_SCOPES.filter((scope) => scopes.includes(scope)),
      lanes: lanes === null ? null : await Promise.all(lanes.map(finder.nameOf)),
      state: current === undefined ? 'invalid' : isOver(current.until) ? 'expired' : 'active',
      createdAt: new Date(created).toISOString(),
      expiresAt: isoOrNull(current?.until ?? null),
      oldSecretUntil: previous === undefined || isOver(previous.until) ? null : isoOrNull(previous.until),
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
  const require = async (id: string): Promise<Stored> => {
    const stored = await read(id);
    if (stored !== null) return stored;
    throw new NotFoundError(`there is no key ${id}; \`volley keys list\` shows all keys`);
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
    await replaceScript.run(redis, { apiKeys: keys.apiKeys }, { id, before, after });
  };

  /** Whether a key was made for a session that has ended. */
  const hasLeft = async ({ id, key }: Stored): Promise<boolean> =>
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
    const name = actor.name.slice(0, 100);
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
  const unlessReplaced = async (stored: Stored): Promise<Stored> => {
    const [current] = stored.key?.secrets ?? [];
    const isReplaced = current !== undefined && (await revoked.hasEnded(stored.id, current.digest, clock()));
    return isReplaced ? { ...stored, key: null } : stored;
  };
  /** A key as it is listed. */
  const listedView = async (stored: Stored, used?: string): Promise<ApiKey> =>
    viewOf(await unlessReplaced(stored), used);

  const shared: Omit<ApiKeys, 'create' | 'createLink' | 'rotate' | 'revoke'> = {
    async list() {
      const [all, used] = await Promise.all([redis.hgetall(keys.apiKeys), redis.hgetall(keys.apiKeysUsed)]);
      const views = await Promise.all(
        Object.entries(all).map(async ([id, json]) => {
          const stored = opened(id, json, await revoked.has(id));
          return (await hasLeft(stored)) ? [] : [await listedView(stored, used[id])];
        }),
      );
      return views.flat().sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
    },

    async get(id) {
      const [stored, used] = await Promise.all([require(id), redis.hget(keys.apiKeysUsed, id)]);
      const view = await listedView(stored, used ?? undefined);
      if (view.recipientsPerDay === null && view.costPerDay === null) return { ...view, today: null };
      const { messages, micros, endsAt } = await storedInDay({ redis, keys }, id, clock());
      const cost = currency === undefined ? null : `${formatAmount(micros, currency)} ${currency}`;
      const resetsAt = new Date(endsAt).toISOString();
      return { ...view, today: { recipientCount: messages, cost, resetsAt } };
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

    refused: (address) => refused.count(address),
    refusedRequest: (key, code) => refused.countRequest(key, code),
    refusedAddress: (key, address) => refused.countAddress(key, address),

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

  const managedBy = (
    by: Operator,
    cancelCampaigns: (key: string) => Promise<CancelledOfKey>,
    webhooks: WebhooksOfKey,
  ): ApiKeys => {
    const actor = describeActor(by.actor);
    return {
      ...shared,
      async create({ name, scopes, lanes: only, lifetime: wanted, maxSuppressions, ...others }) {
        if (!NAME_FORMAT.test(name.trim())) {
          throw new InputError('a key needs a name of 1 to 100 characters on one line');
        }
        if (scopes.length === 0) {
          throw new InputError(`a key needs at least one scope: ${API_SCOPES.join(', ')}`);
        }
        const lanes = only === undefined ? null : await Promise.all([...new Set(only)].map(finder.known));
        const id = newId();
        const lifetime = wanted === null ? null : durationOption('lifetime', wanted, DEFAULT_LIFETIME_MS);
        const limits = checkedLimits(others);
        const secret = newSecret(id, { lifetime, limits });
        const key: UnsignedKey = {
          name: name.trim(),
          scopes: API_SCOPES.filter((scope) => scopes.includes(scope)),
          lanes,
          created: clock(),
          lifetime,
          maxSuppressions: maxSuppressions ?? DEFAULT_MAX_SUPPRESSIONS,
          limits,
          secrets: [secret.stored],
        };
        return { ...(await add(id, key, by, actor)), key: secret.text };
      },

      async createLink({ scopes: wanted }) {
        const scopes = API_SCOPES.filter((scope) => wanted.includes(scope));
        const details = { scopes: scopes.join(',') };
        const { text, endsAt } = await by.audited({ action: 'console.link', details }, () =>
          sessions.makeLink(by.actor, scopes),
        );
        return { secret: text, scopes, expiresAt: new Date(endsAt).toISOString() };
      },

      async rotate(id, { overlap: given, disableWebhooks = false } = {}) {
        const overlapMs = durationOption('overlap', given, DEFAULT_OVERLAP_MS);
        const { json: before, key: found } = await require(id);
        const [current, previous] = found?.secrets ?? [];
        if (found === null || current === undefined) {
          throw new InputError(`key ${id} is invalid: revoke it and create another`);
        }
        if (found.session)
          throw new InputError(`key ${id} belongs to a session of the console: create another instead`);
        const secret = newSecret(id, found);
        const overlap = exactDuration(overlapMs);
        const until = Math.min(clock() + overlapMs, current.until ?? Number.POSITIVE_INFINITY);
        const key = { ...found, secrets: [secret.stored, { ...current, until }] };
        const after = signed(id, key);
        const details = { key: id, name: found.name };
        await by.audited({ action: 'key.rotate', details: { ...details, overlap } }, async () => {
          if (!(await replaceScript.run(redis, { apiKeys: keys.apiKeys }, { id, before, after })))
            throw new InputError(`key ${id} was changed at the same time; try again`);
          await revoked.endSecret(id, current.digest, until);
          // The secret before that ends now. This also makes up for a rotation that failed in the step above.
          if (previous !== undefined) await revoked.endSecret(id, previous.digest, clock());
        });
        events.emit({ type: 'key.rotated', ...details, overlap, actor });
        if (disableWebhooks) await webhooks.disable(id, 'operator');
        const view = await viewOf({ id, json: after, key, maker: 'current' });
        return { ...view, key: secret.text, webhooks: await webhooks.list(id) };
      },

      async revoke(id, { cancelCampaigns: isCancelling = false } = {}) {
        // Of a key that is revoked already, only the id is known.
        const isRepeated = isCancelling && (await read(id)) === null && (await revoked.has(id));
        const name = isRepeated ? id : anyKey.parse(storedJson((await require(id)).json)).name;
        const details = { key: id, name };
        await by.audited({ action: 'key.revoke', details }, async () => {
          if (isRepeated) return;
          await revoked.add(id, clock());
          await redis.hdel(keys.apiKeys, id);
        });
        await redis.hdel(keys.apiKeysUsed, id);
        await webhooks.disable(id, 'keyRevoked');
        // Only now: the key creates no more campaigns.
        const done = isCancelling ? await cancelCampaigns(id) : NOTHING_CANCELLED;
        events.emit({ type: 'key.revoked', ...details, cancelled: done.cancelled.length, actor });
        return done;
      },
    };
  };
  const lifeOf = async (id: string): Promise<KeyLife> => {
    const [found, isRevoked] = await Promise.all([read(id), revoked.has(id)]);
    if (isRevoked) return { state: 'revoked', until: null };
    // Nothing stays of the key of a session that has ended.
    if (found === null || (await hasLeft(found))) return { state: 'expired', until: null };
    const [current] = (await unlessReplaced(found)).key?.secrets ?? [];
    if (current === undefined) return { state: 'invalid', until: null };
    return { state: isOver(current.until) ? 'expired' : 'active', until: current.until };
  };
  return Object.assign(managedBy, {
    lifeOf,
    get: shared.get,
    /** The name and the limits of a key; null if there is none. */
    async limitsOf(id: string): Promise<Pick<UnsignedKey, 'name' | 'limits'> | null> {
      return (await read(id))?.key ?? null;
    },
  });
}
