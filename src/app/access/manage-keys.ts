import type { Clock } from '../../base/clock.js';
import { durationOption, exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import { jsonOrUndefined } from '../../base/json.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import {
  InputError,
  NotAllowedError,
  NotFoundError,
  throwInputErrors,
} from '../../campaign/errors/errors.js';
import { costProblem } from '../../campaign/limits/check-limits.js';
import { keyLimits, limitsAmong } from '../../campaign/limits/limits.js';
import { describeActor } from '../../campaign/states/actor.js';
import { API_SCOPES, type ApiKey } from '../../campaign/states/api-key.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { SomeLimits } from '../../campaign/states/limit-values.js';
import type { DisabledBecause, Webhook } from '../../campaign/views/webhook-views.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { formerSecrets } from '../../service/auth/former-secrets.js';
import type { ApiKeys, CancelledOfKey } from './api-keys.js';
import type { RevokedKeys } from './revoked-keys.js';
import { newId, type SessionStore } from './sessions.js';
import { anyKey, replaceKey, type StoredKey, type UnsignedKey } from './stored-key.js';
import { isOnLanes, requireNotRaised, requireUncounted, requireWithin } from './within-key.js';

/*
 * What changes API keys. A key that makes, rotates, or changes another one can give it nothing that it may not do itself (within-key.ts).
 */

const NAME_FORMAT = /^[^\p{Cc}\p{Surrogate}]{1,100}$/u;
const DAY_MS = 86_400_000;
const DEFAULT_LIFETIME_MS = 365 * DAY_MS;
const DEFAULT_OVERLAP_MS = DAY_MS;
/** Enough for opt-outs that arrive one by one; a key that imports whole lists needs more. */
export const DEFAULT_MAX_SUPPRESSIONS = 10_000;
/** With so many keys on its lanes, a key that is limited to lanes makes no more: each takes memory for ever. */
const MAX_KEYS_ON_LANES = 1_000;
const NOTHING_CANCELLED: CancelledOfKey = { cancelled: [], emptied: [], shared: [] };

/** The webhooks that a key has added. */
export interface WebhooksOfKey {
  list(key: string): Promise<readonly Webhook[]>;
  disable(key: string, because: DisabledBecause): Promise<void>;
}

/** What {@link managingKeys} needs: the keys as they are stored (api-key-service.ts), and what is around them. */
interface ManageDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'known' | 'nameOf'>;
  readonly clock: Clock;
  readonly events: Events;
  readonly revoked: RevokedKeys;
  readonly sessions: Pick<SessionStore, 'makeLink'>;
  /** Requests that a key without a limit of its own may make a minute. */
  readonly requestsPerMinute: number;
  read(id: string): Promise<StoredKey | null>;
  /** Rejects with a NotFoundError if there is no such key. */
  require(id: string): Promise<StoredKey>;
  /** `endsBy`: when it ends at the latest, ms; null: the lifetime decides. */
  newSecret(
    id: string,
    key: Pick<UnsignedKey, 'lifetime' | 'limits'>,
    endsBy?: number | null,
  ): { readonly text: string; readonly stored: UnsignedKey['secrets'][number] };
  readonly currency: string | undefined;
  signed(id: string, key: UnsignedKey): string;
  add(id: string, key: UnsignedKey, by: Pick<Operator, 'audited'>, actor: string): Promise<ApiKey>;
  viewOf(stored: StoredKey): Promise<ApiKey>;
  readonly shared: Omit<ApiKeys, 'create' | 'createLink' | 'rotate' | 'set' | 'revoke'>;
}

/** The limits of a key. Throws an InputError that names those that are not valid. `currency`: of the prices. */
function checkedLimits(given: SomeLimits, currency: string | undefined): UnsignedKey['limits'] {
  const checked = keyLimits.safeParse(limitsAmong(given));
  throwInputErrors(
    (checked.error?.issues ?? []).map(({ path: [name], message }) => {
      const field = String(name);
      return new InputError(`\`${field}\` ${message}`, { field });
    }),
  );
  const problem = costProblem(checked.data, currency);
  if (problem !== null) throw new InputError(`\`costPerDay\` ${problem}`, { field: 'costPerDay' });
  return checked.data ?? {};
}

/** When the current secret of a key ends, ms; null: never. */
const endOf = ({ secrets: [current] }: UnsignedKey): number | null => current?.until ?? null;

/** Opens the keys that someone manages. `cancelCampaigns` cancels the campaigns of a key. */
export const managingKeys =
  (deps: ManageDeps) =>
  (
    by: Operator,
    cancelCampaigns: (key: string) => Promise<CancelledOfKey>,
    webhooks: WebhooksOfKey,
  ): ApiKeys => {
    const { redis, keys, finder, clock, events, revoked, sessions, require, read, newSecret, signed } = deps;
    const actor = describeActor(by.actor);
    /** What the key may do that acts; null if no key does. */
    const ownKey = async (): Promise<UnsignedKey | null> => {
      if (by.actor.kind !== 'key') return null;
      const own = await read(by.actor.id ?? '');
      if (own?.key) return own.key;
      throw new NotAllowedError(`There is no key ${by.actor.id}, so it cannot manage keys.`);
    };
    /** The key of this id, which must be on the lanes of the key that acts. */
    const ofActor = async (id: string, own: UnsignedKey | null): Promise<StoredKey> => {
      const stored = await require(id);
      if (isOnLanes(stored.key ?? anyKey.parse(jsonOrUndefined(stored.json)), own?.lanes)) return stored;
      throw new NotFoundError(`there is no key ${id}`);
    };
    /** The same for one that can be changed. */
    const changeable = async (id: string, own: UnsignedKey | null) => {
      const { json, key } = await ofActor(id, own);
      if (key === null) throw new InputError(`key ${id} is invalid: revoke it and create another`);
      if (key.session)
        throw new InputError(`key ${id} belongs to a session of the console: create another instead`);
      return { json, key };
    };
    const replace = async (id: string, before: string, after: string): Promise<void> => {
      if (!(await replaceKey(redis, keys, { id, before, after })))
        throw new InputError(`key ${id} was changed at the same time; try again`);
    };

    return {
      ...deps.shared,
      async create({ name, scopes, lanes: only, lifetime: wanted, maxSuppressions, ...others }) {
        if (!NAME_FORMAT.test(name.trim())) {
          throw new InputError('a key needs a name of 1 to 100 characters on one line', { field: 'name' });
        }
        if (scopes.length === 0) {
          throw new InputError(`a key needs at least one scope: ${API_SCOPES.join(', ')}`, {
            field: 'scopes',
          });
        }
        const own = await ownKey();
        const named = only && (await Promise.all([...new Set(only)].map(finder.known)));
        const id = newId();
        const endsBy = own && endOf(own);
        const usual = Math.min(DEFAULT_LIFETIME_MS, (endsBy ?? Number.POSITIVE_INFINITY) - clock());
        const lifetime = wanted === null ? null : durationOption('lifetime', wanted, usual);
        const limits = checkedLimits({ ...own?.limits, ...limitsAmong(others) }, deps.currency);
        const secret = newSecret(id, { lifetime, limits }, wanted === undefined ? endsBy : null);
        const most = own?.maxSuppressions ?? DEFAULT_MAX_SUPPRESSIONS;
        const key: UnsignedKey = {
          name: name.trim(),
          scopes: API_SCOPES.filter((scope) => scopes.includes(scope)),
          lanes: named ?? own?.lanes ?? null,
          created: clock(),
          ...(own !== null && { createdBy: { id: by.actor.id ?? '', name: by.actor.name } }),
          lifetime,
          maxSuppressions: maxSuppressions ?? Math.min(most, DEFAULT_MAX_SUPPRESSIONS),
          limits,
          secrets: [secret.stored],
        };
        if (own !== null) {
          requireUncounted(own);
          requireWithin(own, key, deps.requestsPerMinute);
          const names = own.lanes && (await Promise.all(own.lanes.map(finder.nameOf)));
          if (names !== null && (await deps.shared.list({ lanes: names })).length >= MAX_KEYS_ON_LANES)
            throw new NotAllowedError(
              `There are ${MAX_KEYS_ON_LANES} keys for the lanes of this key: revoke some first.`,
            );
          const isLonger = endsBy !== null && (secret.stored.until === null || secret.stored.until > endsBy);
          if (isLonger)
            throw new NotAllowedError(
              `A key may work no longer than the key that makes it, which ends at ${new Date(endsBy).toISOString()}.`,
            );
        }
        return { ...(await deps.add(id, key, by, actor)), key: secret.text };
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
        const own = await ownKey();
        const { json: before, key: found } = await changeable(id, own);
        if (own !== null) {
          // With the secret of another key, it could send as much again.
          if (id !== by.actor.id) requireUncounted(own);
          requireWithin(own, found, deps.requestsPerMinute);
        }
        const secret = newSecret(id, found, own && endOf(own));
        const overlap = exactDuration(overlapMs);
        const now = clock();
        const former = formerSecrets(`key ${id}`, found.secrets, now, overlapMs);
        const key = { ...found, secrets: [secret.stored, ...former.filter(({ until }) => until > now)] };
        const after = signed(id, key);
        const details = { key: id, name: found.name };
        await by.audited({ action: 'key.rotate', details: { ...details, overlap } }, async () => {
          await replace(id, before, after);
          // This also makes up for an earlier rotation that failed here.
          for (const one of former) await revoked.endSecret(id, one.digest, one.until);
        });
        events.emit({ type: 'key.rotated', ...details, overlap, actor });
        if (disableWebhooks) await webhooks.disable(id, 'operator');
        const view = await deps.viewOf({ id, json: after, key, maker: 'current' });
        return { ...view, key: secret.text, webhooks: await webhooks.list(id) };
      },

      async set(id, { lift = [], maxSuppressions, ...others }) {
        const given = limitsAmong(others);
        const both = lift.find((name) => name in given);
        if (both !== undefined) throw new InputError(`set \`${both}\` or lift it, not both`, { field: both });
        const own = await ownKey();
        const { json: before, key: found } = await changeable(id, own);
        const lifted = Object.fromEntries(lift.map((name) => [name, null]));
        const key: UnsignedKey = {
          ...found,
          maxSuppressions: maxSuppressions ?? found.maxSuppressions,
          limits: checkedLimits({ ...found.limits, ...given, ...lifted }, deps.currency),
        };
        if (own !== null) {
          requireWithin(own, key, deps.requestsPerMinute);
          requireNotRaised(own, found, key);
        }
        const names = [
          ...Object.keys(given),
          ...lift,
          ...(maxSuppressions === undefined ? [] : ['maxSuppressions']),
        ];
        if (names.length === 0) throw new InputError('name a limit to set or to lift');
        const details = { key: id, name: found.name, limits: names.join(',') };
        const after = signed(id, key);
        await by.audited({ action: 'key.set', details }, () => replace(id, before, after));
        events.emit({ type: 'key.changed', ...details, actor });
        return deps.viewOf({ id, json: after, key, maker: 'current' });
      },

      async revoke(id, { cancelCampaigns: isCancelling = false } = {}) {
        const own = await ownKey();
        // Of a key that is revoked already, only the id is known.
        const isKnown = !isCancelling || (await read(id)) !== null || !(await revoked.has(id));
        const isRepeated = !isKnown && (own?.lanes ?? null) === null;
        const name = isRepeated ? id : anyKey.parse(jsonOrUndefined((await ofActor(id, own)).json)).name;
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
