import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import { durationOption, exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { InputError, NotFoundError } from '../../campaign/errors/errors.js';
import { listed } from '../../campaign/errors/listed.js';
import { LABEL } from '../../campaign/fields/field-kinds.js';
import { NAME } from '../../campaign/fields/fields.js';
import { describeActor } from '../../campaign/states/actor.js';
import { type ApiKey, allowsScope } from '../../campaign/states/api-key.js';
import type { AuditAction, AuditedOperation, Operator } from '../../campaign/states/audit.js';
import type { DisabledBecause, Webhook } from '../../campaign/views/webhook-views.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { formerSecrets } from '../../service/auth/former-secrets.js';
import type { Seal } from '../../service/auth/seal.js';
import { sizeOf, testId } from './delivery.js';
import {
  checkedUrl,
  type Endpoint,
  type EventFilter,
  hostOf,
  keyOf,
  openSecrets,
  withSecrets,
} from './endpoint.js';
import { type KeyEndDeps, keyEndOf } from './key-ends.js';
import type { LaneReader } from './lane-reader.js';
import type { Poster } from './post.js';
import { answerOf } from './retry-plan.js';
import { newSecret, signedHeaders } from './signature.js';
import { type Change, MAX_ENDPOINTS, MAX_OF_KEY, MAX_OF_LANE, type WebhookStore } from './store.js';
import type { WebhookChoice, WebhookSettings, Webhooks } from './webhook-methods.js';

const DAY_MS = 86_400_000;
/** For how long events are also signed with the former secret. */
const DEFAULT_OVERLAP_MS = DAY_MS;
const MAX_OVERLAP_MS = 30 * DAY_MS;

/** What {@link webhookService} needs. */
interface WebhookDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly store: WebhookStore;
  readonly lanes: Pick<LaneReader, 'ends'>;
  readonly finder: Pick<LaneFinder, 'known' | 'idOf' | 'nameOf'>;
  /** Deriving its key takes a while. */
  readonly seal: () => Seal;
  readonly events: Events;
  readonly clock: Clock;
  /** Opened for the first test. */
  readonly poster: () => Promise<Poster>;
  readonly lifeOf: KeyEndDeps['lifeOf'];
  /** What an API key may do. Rejects with a NotFoundError if there is none. */
  readonly keyOf: (id: string) => Promise<Pick<ApiKey, 'scopes' | 'lanes'>>;
}

const MAX_FAILED_PAGE = 500;
const DEFAULT_FAILED_PAGE = 100;

/** Opens the endpoints; `webhooks(by)` are those that `by` manages. */
export function webhookService(deps: WebhookDeps) {
  const { redis, keys, store, finder, events, clock } = deps;

  const viewOf = async (endpoint: Endpoint): Promise<Webhook> => {
    const [totals, counts] = await Promise.all([store.totals(endpoint.id), store.counts(endpoint.id)]);
    const { health } = totals;
    const formerUntil = Math.max(...endpoint.secrets.map(({ until }) => until ?? 0));
    return {
      id: endpoint.id,
      url: endpoint.url,
      lanes: endpoint.lanes === null ? null : await Promise.all(endpoint.lanes.map(finder.nameOf)),
      events: endpoint.events,
      outboxes: endpoint.outboxes,
      tags: endpoint.tags,
      key: keyOf(endpoint),
      state: endpoint.disabledBecause === null ? 'enabled' : 'disabled',
      disabledBecause: endpoint.disabledBecause,
      createdAt: iso(endpoint.createdAt),
      createdBy: endpoint.createdBy,
      oldSecretUntil: formerUntil > clock() ? iso(formerUntil) : null,
      deliveredCount: totals.delivered,
      resultCount: totals.results,
      waitingCount: counts.waiting,
      failedCount: counts.failed,
      removedCount: totals.removed,
      lastDeliveredAt: health.lastDeliveredAt === 0 ? null : iso(health.lastDeliveredAt),
      failingSince: health.failingSince === 0 ? null : iso(health.failingSince),
      lastError: health.lastError === '' ? null : health.lastError,
    };
  };

  /** An endpoint that the caller may see. */
  const require = async (id: string, { lanes }: WebhookChoice = {}): Promise<Endpoint> => {
    const endpoint = await store.endpoint(id);
    const ids = lanes && (await Promise.all(lanes.map(finder.idOf)));
    if (endpoint !== null && isWithin(endpoint, ids)) return endpoint;
    throw new NotFoundError(`there is no webhook ${id}; \`volley webhook list\` shows all`);
  };

  const shared: Pick<Webhooks, 'list' | 'get' | 'failed'> = {
    async list({ lanes } = {}) {
      const ids = lanes && (await Promise.all(lanes.map(finder.idOf)));
      const all = await store.endpoints();
      return Promise.all(all.filter((endpoint) => isWithin(endpoint, ids)).map(viewOf));
    },
    get: async (id, choice) => viewOf(await require(id, choice)),
    async failed(id, { limit = DEFAULT_FAILED_PAGE, cursor } = {}) {
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= MAX_FAILED_PAGE))
        throw new InputError(`ask for 1 to ${MAX_FAILED_PAGE} events`, { field: 'limit' });
      await require(id);
      const { deliveries, next } = await store.failedAfter(id, cursor ?? '', limit);
      const names = new Map<LaneId, string>();
      for (const { lane } of deliveries) if (!names.has(lane)) names.set(lane, await finder.nameOf(lane));
      const failed = deliveries.map((delivery) => ({
        id: delivery.id,
        type: delivery.type,
        lane: names.get(delivery.lane) ?? delivery.lane,
        resultCount: sizeOf(delivery),
        createdAt: iso(delivery.createdAt),
        failedAt: iso(delivery.failedAt),
        attemptCount: delivery.attempts,
        reason: delivery.reason,
      }));
      return { failed, nextCursor: next };
    },
  };

  return (by: Operator): Webhooks => {
    const actor = describeActor(by.actor);
    const audited = <Result>(
      action: AuditAction,
      endpoint: Pick<Endpoint, 'id' | 'url' | 'lanes'>,
      run: () => Promise<Result>,
      more: AuditedOperation['details'] = {},
    ): Promise<Result> => {
      const [lane, ...others] = endpoint.lanes ?? [];
      return by.audited(
        {
          action,
          ...(lane !== undefined && others.length === 0 ? { lane } : {}),
          details: { webhook: endpoint.id, host: hostOf(endpoint), ...more },
        },
        run,
      );
    };
    const change = async (before: Endpoint, after: Endpoint | null): Promise<void> => {
      if ((await store.change(before.id, before, after)).is === 'made') return;
      throw new InputError(`webhook ${before.id} was changed at the same time; try again`);
    };
    const setState = async (
      action: AuditAction,
      id: string,
      disabledBecause: DisabledBecause | null,
    ): Promise<Webhook> => {
      const endpoint = await require(id);
      const { because } = await keyEndOf(deps, endpoint);
      if (disabledBecause === null && because !== null)
        throw new InputError(
          `the API key of webhook ${id} ${KEY_ENDS[because]}: give the webhook to another key, with \`volley webhook assign ${id} --key KEY\``,
        );
      await audited(action, endpoint, async () => {
        if (disabledBecause === null) await store.beginAnew(id, clock());
        await change(endpoint, { ...endpoint, disabledBecause });
      });
      return viewOf(await require(id));
    };
    /** Rejects unless an API key works, and may read what an endpoint gets. */
    const requireKeyFor = async ({ lanes }: Endpoint, key: string): Promise<void> => {
      const { state } = await deps.lifeOf(key);
      if (state !== 'active')
        throw new InputError(`API key ${key} does not work: it is unknown, revoked, or expired`, {
          field: 'key',
        });
      const { scopes, lanes: only } = await deps.keyOf(key);
      if (!allowsScope({ scopes }, 'read'))
        throw new InputError(`API key ${key} lacks the scope \`read\`, and a webhook gets numbers`, {
          field: 'key',
        });
      const its = lanes && (await Promise.all(lanes.map(finder.nameOf)));
      if (only !== null && its?.every((lane) => only.includes(lane)) !== true)
        throw new InputError(
          `API key ${key} may use only ${listed(only)}, and the webhook gets events of ${its === null ? 'all lanes' : listed(its)}`,
          { field: 'key' },
        );
    };
    const tooMany = async (added: Change, endpoint: Endpoint): Promise<InputError> => {
      switch (added.is) {
        case 'full':
          return new InputError(`there are ${MAX_ENDPOINTS} webhooks, and no more are possible: remove one`);
        case 'fullForKey':
          return new InputError(
            `API key ${keyOf(endpoint)} has ${MAX_OF_KEY} webhooks, and may have no more: remove one`,
          );
        case 'fullForLane':
          return new InputError(
            `lane ${await finder.nameOf(added.lane)} has ${MAX_OF_LANE} webhooks, and may have no more: remove one`,
          );
        case 'made':
        case 'stale':
          return new InputError(`webhook ${endpoint.id} was changed at the same time; try again`);
        default:
          return added satisfies never;
      }
    };
    /** What seals a new secret. */
    const sealing = (): Seal => {
      const seal = deps.seal();
      if (seal.fingerprint === '')
        throw new InputError(
          'SECRETS_KEY is not set, so the secret of a webhook would be stored unencrypted; generate one with `openssl rand -base64 32`, and set it for all processes',
        );
      return seal;
    };

    return {
      ...shared,

      async add({ url: given, lanes: only, ...filter }) {
        const lanes = only === undefined ? null : await Promise.all([...new Set(only)].map(finder.known));
        const url = checkedUrl(given);
        const id = randomBytes(6).toString('hex');
        const secret = newSecret();
        const unsealed = {
          id,
          json: '',
          url,
          lanes,
          ...filterOf(filter),
          createdAt: clock(),
          createdBy: by.actor,
          key: by.actor.kind === 'key' ? by.actor.id : null,
          disabledBecause: null,
        };
        const endpoint = withSecrets(sealing(), unsealed, [{ secret, until: null }]);
        await audited('webhook.add', endpoint, async () => {
          const ends = await deps.lanes.ends(lanes ?? (await redis.smembers(keys.lanes)));
          const added = await store.change(id, null, endpoint, { ends });
          if (added.is !== 'made') throw await tooMany(added, endpoint);
        });
        events.emit({
          type: 'webhook.added',
          webhook: id,
          host: hostOf(endpoint),
          lanes: only?.join(',') ?? 'all lanes',
          actor,
        });
        return { ...(await viewOf(endpoint)), secret };
      },

      async remove(id) {
        // One that cannot be read does not name its lanes, so no key finds it, and only an operator removes it.
        if ((await store.damaged()).includes(id)) {
          await by.audited({ action: 'webhook.remove', details: { webhook: id } }, () =>
            store.removeDamaged(id),
          );
          return;
        }
        const endpoint = await require(id);
        await audited('webhook.remove', endpoint, () => change(endpoint, null));
        events.emit({ type: 'webhook.removed', webhook: id, host: hostOf(endpoint), actor });
      },

      async test(id) {
        const endpoint = await require(id);
        const message = testId(randomBytes(9).toString('base64url'));
        return audited('webhook.test', endpoint, async () => {
          const now = clock();
          const body = JSON.stringify({ type: 'webhook.test', timestamp: iso(now), data: { webhook: id } });
          const secrets = openSecrets(deps.seal(), endpoint, now);
          const headers = signedHeaders(message, now, body, secrets);
          const exchange = await (await deps.poster()).post(endpoint.url, headers, body);
          const answer = answerOf(exchange, clock());
          return {
            id: message,
            outcome: answer.kind === 'accepted' ? 'accepted' : 'failed',
            status: exchange.kind === 'reply' ? exchange.status : null,
            reason: 'reason' in answer ? answer.reason : null,
            took: exactDuration(clock() - now),
          };
        });
      },

      async rotate(id, { overlap } = {}) {
        const overlapMs = durationOption('overlap', overlap, DEFAULT_OVERLAP_MS);
        if (overlapMs > MAX_OVERLAP_MS)
          throw new InputError('`overlap` must be at most 30d: a secret that has leaked must end', {
            field: 'overlap',
          });
        const endpoint = await require(id);
        const [seal, now, secret] = [sealing(), clock(), newSecret()];
        const former = formerSecrets(`webhook ${id}`, openSecrets(seal, endpoint, now), now, overlapMs);
        const after = withSecrets(seal, endpoint, [{ secret, until: null }, ...former]);
        await audited('webhook.rotate', endpoint, () => change(endpoint, after), {
          overlap: exactDuration(overlapMs),
        });
        return { ...(await viewOf(await require(id))), secret };
      },

      async set(id, { url: given, ...filter }) {
        const before = await require(id);
        const url = checkedUrl(given);
        // The address authenticates the secrets.
        const secrets = openSecrets(deps.seal(), before, clock());
        const after = withSecrets(deps.seal(), { ...before, url, ...filterOf(filter) }, secrets);
        await audited(
          'webhook.set',
          before,
          async () => {
            await change(before, after);
            if (url !== before.url) await store.beginAnew(id, clock());
          },
          { newHost: hostOf(after) },
        );
        return viewOf(await require(id));
      },

      async assign(id, { key: wanted } = {}) {
        const endpoint = await require(id);
        const key = wanted ?? (by.actor.kind === 'key' ? by.actor.id : null);
        if (key !== null) await requireKeyFor(endpoint, key);
        const isEnded = endpoint.disabledBecause !== null && endpoint.disabledBecause in KEY_ENDS;
        const after = { ...endpoint, key, disabledBecause: isEnded ? null : endpoint.disabledBecause };
        await audited(
          'webhook.assign',
          endpoint,
          async () => {
            if (isEnded) await store.beginAnew(id, clock());
            const made = await store.change(id, endpoint, after);
            if (made.is !== 'made') throw await tooMany(made, after);
          },
          { to: key ?? 'no key' },
        );
        return viewOf(await require(id));
      },

      enable: (id) => setState('webhook.enable', id, null),
      disable: (id) => setState('webhook.disable', id, 'operator'),

      async replay(id, { delivery } = {}) {
        const endpoint = await require(id);
        const wanted = delivery === undefined ? null : await store.failedWithId(id, delivery);
        if (delivery !== undefined && wanted === null)
          throw new NotFoundError(
            `webhook ${id} has no failed event ${delivery}; \`volley webhook failed ${id}\` shows all`,
          );
        const now = clock();
        const fresh = { dueAt: now, refusals: 0, firstRefusedAt: 0, failedAt: 0 };
        return audited('webhook.replay', endpoint, async () => {
          let replayed = 0;
          for await (const some of wanted === null ? store.failed(id) : [[wanted]])
            replayed += await store.replay(
              id,
              some.map((one) => ({ ...one, ...fresh })),
            );
          return replayed;
        });
      },
    };
  };
}

/** What has become of an API key whose endpoints are disabled. */
const KEY_ENDS = {
  keyRevoked: 'was revoked',
  keyExpired: 'has expired',
  keyInvalid: 'does not work any more',
} as const;

/** Names as they are stored. Throws an InputError for one that nothing can have. */
function namesOf(field: string, names: readonly string[] | undefined, form: RegExp): string[] | null {
  const wrong = names?.find((name) => !form.test(name));
  if (wrong === undefined) return names === undefined ? null : [...new Set(names)];
  throw new InputError(`\`${field}\` contains ${JSON.stringify(wrong)}, which none can have`, { field });
}

/** A filter as it is stored. */
const filterOf = ({ events, outboxes, tags }: Omit<WebhookSettings, 'url'>): EventFilter => ({
  events: events === undefined ? null : [...new Set(events)],
  outboxes: namesOf('outboxes', outboxes, NAME),
  tags: namesOf('tags', tags, LABEL),
});

const iso = (ms: number): string => new Date(ms).toISOString();

/** Whether an endpoint gets events of these lanes only; undefined: all lanes. */
const isWithin = ({ lanes }: Endpoint, ids: readonly LaneId[] | undefined): boolean =>
  ids === undefined || lanes?.every((lane) => ids.includes(lane)) === true;
