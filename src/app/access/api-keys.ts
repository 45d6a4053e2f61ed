import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../base/clock.js';
import { durationOption, exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { describeActor } from '../../campaign/actor.js';
import { API_SCOPES, type ApiKey, type ApiKeyDetails, type ApiScope } from '../../campaign/api-key.js';
import type { Operator } from '../../campaign/audit.js';
import { InputError, NotFoundError, throwInputErrors } from '../../campaign/errors.js';
import type { SomeLimits } from '../../campaign/limit-values.js';
import { allLimits, keyLimits, limitsAmong } from '../../campaign/limits.js';
import { formatAmount } from '../../campaign/price.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { storedInDay } from '../../engine/recipients/daily.js';
import { createDigests, type DigestMaker } from '../../service/auth/seal.js';
import type { RefusedKeys } from './refused-keys.js';
import { revokedKeys } from './revoked-keys.js';
import { storedJson } from './stored-json.js';

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

/** What Redis stores about a key, in a hash by id: never the key itself. Times in ms since the epoch. */
const unsigned = z.object({
  name: z.string(),
  scopes: z.array(z.string()),
  /** The ids of the only lanes the key may use; null: all lanes. A key stays with its lanes when they are renamed. */
  lanes: z.array(z.string()).nullable(),
  created: z.number(),
  /** How long a secret lives, ms; null: for ever. */
  lifetime: z.number().nullable(),
  maxSuppressions: z.number(),
  limits: keyLimits.default({}),
  /** The current secret, and after a rotation the one before it. `digest`: of id and secret. `until`: when it ends. */
  secrets: z.array(z.object({ digest: z.string(), until: z.number().nullable() })).min(1),
});
type UnsignedKey = z.output<typeof unsigned>;
/** `mac`: authenticates all other fields, so that write access to Redis neither creates a key nor extends one. */
const storedKey = unsigned.extend({ mac: z.string() });
/** What Redis has about a key. `key`: what it says; null if that cannot be trusted. */
interface Stored {
  readonly id: string;
  readonly json: string;
  readonly key: UnsignedKey | null;
  /** What made its MAC; null if it cannot be trusted. */
  readonly maker: DigestMaker | null;
}
/** A valid key. `idAndSecret`: what its secret's digest is of; `at`: which of its secrets it is. */
interface Valid extends Stored {
  readonly key: UnsignedKey;
  readonly idAndSecret: string;
  readonly at: number;
  readonly secretMaker: DigestMaker;
}
/** What is shown of a key that an earlier version stored, or whose record is damaged. */
const anyKey = unsigned
  .pick({ name: true, scopes: true, lanes: true, created: true })
  .catch({ name: 'damaged', scopes: [], lanes: [], created: 0 });

const replaceScript = loadScript(import.meta.url, './replace-key.lua', (reply) => reply === 1);

/** What a new key may do. */
export interface NewApiKey extends SomeLimits {
  readonly name: string;
  readonly scopes: readonly ApiScope[];
  /** The only lanes it may use; default: all. */
  readonly lanes?: readonly string[] | undefined;
  /** How long it works, such as `90d`; null: for ever. Default: `365d`. */
  readonly lifetime?: string | null | undefined;
  /** How many numbers may be suppressed because of this key at the same time; default 10,000. */
  readonly maxSuppressions?: number | undefined;
}

/** The limits of a new key. Throws an InputError that names those that are not valid. */
function checkedLimits(given: SomeLimits): z.output<typeof keyLimits> {
  const checked = keyLimits.safeParse(limitsAmong(given));
  throwInputErrors(
    (checked.error?.issues ?? []).map(({ path: [name], message }) => {
      const field = String(name);
      return new InputError(`\`${field}\` ${message}`, { field });
    }),
  );
  return checked.data ?? {};
}

/** A key and its text, which nothing stores. */
export type ShownApiKey = ApiKey & { readonly key: string };

/** What was cancelled with a key. `lane`: the name of an outbox's lane. */
export interface CancelledOfKey {
  /** Campaigns. */
  readonly cancelled: readonly string[];
  /** Outboxes to which only the key wrote, and how many messages waited in each. */
  readonly emptied: readonly { readonly name: string; readonly lane: string; readonly cancelled: number }[];
  /** Outboxes to which the key wrote, and maybe others: what waits in them is still sent. */
  readonly shared: readonly { readonly name: string; readonly lane: string }[];
}

const NOTHING_CANCELLED: CancelledOfKey = { cancelled: [], emptied: [], shared: [] };

/** Manages and checks the keys of the HTTP API. Volley stores only a digest of each key. */
export interface ApiKeys {
  /** Creates a key. Only this result, and that of `rotate`, contains the key itself. */
  create(key: NewApiKey): Promise<ShownApiKey>;
  /** Lists the keys that are not revoked, oldest first. */
  list(): Promise<ApiKey[]>;
  /** Returns a key that is not revoked, and what it has stored today. Rejects with a `NotFoundError` if there is no such key. */
  get(id: string): Promise<ApiKeyDetails>;
  /**
   * Gives a key a new secret, with a new lifetime. The old one works for `overlap` more, default `1d`. Rejects with a
   * `NotFoundError` if there is no such key, and with an `InputError` if it is invalid.
   */
  rotate(id: string, options?: { readonly overlap?: string | undefined }): Promise<ShownApiKey>;
  /**
   * Revokes a key immediately. With `cancelCampaigns`, also cancels every campaign that it has created and that has not ended, and
   * everything that waits in the outboxes to which only this key wrote. Returns the ids of the campaigns, and these outboxes; `shared` are
   * those to which others may have written, too. If that failed in the middle, repeat it to finish: with `cancelCampaigns`, the key may be
   * revoked already. Rejects with a `NotFoundError` if there is no such key.
   */
  revoke(id: string, options?: { readonly cancelCampaigns?: boolean | undefined }): Promise<CancelledOfKey>;
  /** Returns the key with this text; null if it is not a valid key. */
  check(key: string): Promise<ApiKey | null>;
  /** Counts a request with an invalid key for the audit trail. `address`: where it came from. */
  refused(address: string): void;
  /** Counts a request of a valid key that was refused, for the audit trail. `code`: that of its problem document. */
  refusedRequest(key: Pick<ApiKey, 'id' | 'name'>, code: string): void;
  /** Counts a request of a valid key from an address from which it may not be used, for the audit trail. */
  refusedAddress(key: Pick<ApiKey, 'id' | 'name'>, address: string): void;
  /** Returns whether the key with this text is valid, as `check` does, but does not count as a use of it. */
  isActive(key: string): Promise<boolean>;
}

interface ApiKeyDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'known' | 'nameOf'>;
  readonly clock: Clock;
  readonly events: Events;
  readonly refused: RefusedKeys;
  /** All processes need the same; see {@link createDigests}. */
  readonly secretsKey: string | undefined;
  readonly previousSecretsKey?: string | undefined;
  /** Of the prices. */
  readonly currency: string | undefined;
}

/**
 * Opens the API keys; `apiKeys(by)` are those that `by` manages. `cancelCampaigns` cancels the campaigns of a key; `onRevoked` ends what
 * goes on without requests of the key.
 */
export function apiKeyService(deps: ApiKeyDeps) {
  const { redis, keys, finder, clock, events, refused, secretsKey, previousSecretsKey, currency } = deps;
  // One key for each purpose. Earlier versions had one for both.
  const secretDigests = createDigests(secretsKey, previousSecretsKey, 'secrets of API keys', 'api keys');
  const recordDigests = createDigests(secretsKey, previousSecretsKey, 'records of API keys', 'api keys');
  const signedText = (id: string, key: UnsignedKey): string => {
    const { name, scopes, lanes, created, lifetime, maxSuppressions, secrets } = key;
    const all = secrets.map(({ digest, until }) => [digest, until]);
    const limits = limitsAmong(key.limits);
    const more = Object.keys(limits).length > 0 ? [limits] : [];
    return JSON.stringify([id, name, scopes, lanes, created, lifetime, maxSuppressions, all, ...more]);
  };
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
      lastUsedAt: used === undefined ? null : new Date(Number(used)).toISOString(),
    };
  };
  const recordedAt = new Map<string, number>();
  /** The last uses have a hash of their own because they are written far more often than the keys. */
  const recordUse = async (id: string): Promise<void> => {
    const now = clock();
    if (now - (recordedAt.get(id) ?? 0) < RECORD_USE_EVERY_MS) return;
    recordedAt.set(id, now);
    await redis.hset(keys.apiKeysUsed, id, now);
  };
  const require = async (id: string): Promise<Stored> => {
    const stored = await read(id);
    if (stored !== null) return stored;
    throw new NotFoundError(`there is no key ${id}; \`volley keys list\` shows all keys`);
  };
  /** What is stored of the key with this text, and what made the digest of its secret; null if it is not a valid key. */
  const validKey = async (text: string): Promise<Valid | null> => {
    const groups = KEY_FORMAT.exec(text)?.groups;
    const [id, secret] = [groups?.['id'], groups?.['secret']];
    if (id === undefined || secret === undefined) return null;
    // Redis is read every time, so a revoked key stops working immediately.
    const idAndSecret = `${id} ${secret}`;
    const hasEnded = (digest: string): Promise<boolean> => revoked.hasEnded(id, digest, clock());
    const [stored, isEnded] = await untilAnswered(
      () => Promise.all([read(id), hasEnded(secretDigests.of(idAndSecret))]),
      CHECK_PATIENCE,
    );
    const secrets = stored?.key?.secrets ?? [{ digest: NO_DIGEST, until: null }];
    const made = secrets.map(({ digest, until }) => {
      const maker = secretDigests.makerOf(idAndSecret, digest);
      return isOver(until) ? null : maker;
    });
    const at = made.findIndex((maker) => maker !== null);
    const secretMaker = made[at];
    if (stored === null || stored.key === null || !secretMaker || isEnded) return null;
    if ((groups?.['test'] !== undefined) !== (stored.key.limits.test ?? false)) return null;
    // The tombstone may be of the digest that is stored, of an earlier version or the previous SECRETS_KEY.
    const digest = secrets[at]?.digest ?? NO_DIGEST;
    if (secretMaker !== 'current' && (await untilAnswered(() => hasEnded(digest), CHECK_PATIENCE)))
      return null;
    return { ...stored, key: stored.key, at, secretMaker, idAndSecret };
  };
  /** Makes the digests of a key again that an earlier version or the previous SECRETS_KEY has made. */
  const remake = async ({
    id,
    json: before,
    key,
    maker,
    at,
    secretMaker,
    idAndSecret,
  }: Valid): Promise<void> => {
    if (maker === 'current' && secretMaker === 'current') return;
    const secrets = key.secrets.map((one, index) =>
      index === at ? { ...one, digest: secretDigests.of(idAndSecret) } : one,
    );
    const after = signed(id, { ...key, secrets });
    await replaceScript.run(redis, { apiKeys: keys.apiKeys }, { id, before, after });
  };

  /** A key as it is listed. */
  const listedView = async (stored: Stored, used?: string): Promise<ApiKey> => {
    const [current] = stored.key?.secrets ?? [];
    // The record may have been restored after a rotation had replaced its secret.
    const isReplaced = current !== undefined && (await revoked.hasEnded(stored.id, current.digest, clock()));
    return viewOf(isReplaced ? { ...stored, key: null } : stored, used);
  };

  const shared: Pick<
    ApiKeys,
    'list' | 'get' | 'check' | 'isActive' | 'refused' | 'refusedRequest' | 'refusedAddress'
  > = {
    async list() {
      const [all, used] = await Promise.all([redis.hgetall(keys.apiKeys), redis.hgetall(keys.apiKeysUsed)]);
      const views = await Promise.all(
        Object.entries(all).map(async ([id, json]) =>
          listedView(opened(id, json, await revoked.has(id)), used[id]),
        ),
      );
      return views.sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
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
      const valid = await validKey(text);
      if (valid === null) return null;
      // The key is valid even if its use cannot be recorded.
      recordUse(valid.id).catch(() => {});
      remake(valid).catch(() => {});
      return viewOf(valid);
    },

    refused: (address) => refused.count(address),
    refusedRequest: (key, code) => refused.countRequest(key, code),
    refusedAddress: (key, address) => refused.countAddress(key, address),

    isActive: async (text) => (await validKey(text)) !== null,
  };

  const managedBy = (
    by: Operator,
    cancelCampaigns: (key: string) => Promise<CancelledOfKey>,
    onRevoked: (key: string) => Promise<void> = async () => {},
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
        const id = randomBytes(6).toString('hex');
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
        const json = signed(id, key);
        const allowed = { scopes: key.scopes.join(','), lanes: only?.join(',') ?? 'all lanes' };
        const details = { key: id, name: key.name, ...allowed };
        await by.audited({ action: 'key.create', details }, () => redis.hset(keys.apiKeys, id, json));
        events.emit({ type: 'key.created', ...details, actor });
        return { ...(await viewOf({ id, json, key, maker: 'current' })), key: secret.text };
      },

      async rotate(id, { overlap: given } = {}) {
        const overlapMs = durationOption('overlap', given, DEFAULT_OVERLAP_MS);
        const { json: before, key: found } = await require(id);
        const [current, previous] = found?.secrets ?? [];
        if (found === null || current === undefined) {
          throw new InputError(`key ${id} is invalid: revoke it and create another`);
        }
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
        return { ...(await viewOf({ id, json: after, key, maker: 'current' })), key: secret.text };
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
        await onRevoked(id);
        // Only now: the key creates no more campaigns.
        const done = isCancelling ? await cancelCampaigns(id) : NOTHING_CANCELLED;
        events.emit({ type: 'key.revoked', ...details, cancelled: done.cancelled.length, actor });
        return done;
      },
    };
  };
  /** Whether a key with this id was revoked. */
  return Object.assign(managedBy, { isRevoked: (id: string): Promise<boolean> => revoked.has(id) });
}
