import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { perName } from '../../campaign/states/recipient.js';
import { readOrNull } from '../../engine/recipients/damaged.js';
import type { WebhookTotals } from '../fleet-snapshot.js';
import { type Delivery, packDelivery, unpackDelivery } from './delivery.js';
import { type Endpoint, packEndpoint, readEndpoint } from './endpoint.js';
import { type Health, NEW_HEALTH } from './retry-plan.js';

/** Failed deliveries of an endpoint that are kept, of at most 4 kB each. */
const MAX_FAILED = 10_000;
/** Endpoints of an installation. Each costs a look at the logs of its lanes whenever something changes there. */
export const MAX_ENDPOINTS = 1_000;
/** Those of one API key, and those that name one lane: no key and no tenant uses up what others need. */
export const MAX_OF_KEY = 20;
export const MAX_OF_LANE = 50;
/** How many failed deliveries are read at the same time. */
const READ_AT_ONCE = 100;

/** What has happened to the deliveries of an endpoint. */
export interface Totals {
  readonly delivered: number;
  readonly results: number;
  readonly removed: number;
  readonly health: Health;
}

/** What an endpoint has got, by what was read: see sources.ts. */
export type Cursors = ReadonlyMap<string, string>;

/** What was read for an endpoint, and the cursor behind it. '' for a cursor: from the beginning. */
export interface Step {
  readonly cursor: string;
  readonly from: string;
  readonly to: string;
  /** Results that no longer exist. */
  readonly removed?: number;
  readonly deliveries: readonly Delivery[];
}

/** What an attempt means for a delivery. */
export interface Settlement {
  readonly delivery: Delivery;
  /** What replaces it: itself, to be sent again, or its halves. Default: nothing. */
  readonly by?: readonly Delivery[];
  /** Whether it is given up on. */
  readonly isGivenUp?: boolean;
  readonly health?: Health;
  readonly delivered?: number;
  readonly results?: number;
  readonly removed?: number;
}

/**
 * What a change of an endpoint did. A new one may not be added if the installation, its API key, or one of its lanes has as many as it may
 * have; nor may one be given to a key that has.
 */
export type Change =
  | { readonly is: 'made' | 'stale' | 'full' | 'fullForKey' }
  | { readonly is: 'fullForLane'; readonly lane: LaneId };

function readChange(reply: unknown): Change {
  switch (reply) {
    case 1:
      return { is: 'made' };
    case 0:
      return { is: 'stale' };
    case 'all':
      return { is: 'full' };
    case 'key':
      return { is: 'fullForKey' };
    default:
      return { is: 'fullForLane', lane: z.string().parse(reply) };
  }
}

const isDone = (reply: unknown): boolean => reply === 1;
const changeScript = loadScript(import.meta.url, './change-endpoint.lua', readChange);
const storeScript = loadScript(import.meta.url, './store-deliveries.lua', isDone);
const settleScript = loadScript(import.meta.url, './settle-delivery.lua', isDone);

const count = z.coerce.number().default(0);
const totals = z.object({
  delivered: count,
  results: count,
  removed: count,
  health: z.string().default('{}'),
});

/** What Redis has of the webhook endpoints. */
export function webhookStore(redis: Redis, keys: Keys) {
  const { endpoints, due, ...of } = keys.webhooks;
  return {
    async endpoint(id: string): Promise<Endpoint | null> {
      const json = await redis.hget(endpoints, id);
      return json === null ? null : readEndpoint(id, json);
    },

    /** All endpoints, oldest first. */
    async endpoints(): Promise<Endpoint[]> {
      const all = Object.entries(await redis.hgetall(endpoints));
      return all
        .flatMap(([id, json]) => readEndpoint(id, json) ?? [])
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    },

    count: (): Promise<number> => redis.hlen(endpoints),

    /** The ids of endpoints whose record cannot be read. */
    async damaged(): Promise<string[]> {
      const all = Object.entries(await redis.hgetall(endpoints));
      return all.flatMap(([id, json]) => (readEndpoint(id, json) === null ? [id] : []));
    },

    /** Removes an endpoint whose record cannot be read. */
    async removeDamaged(id: string): Promise<void> {
      await redis
        .multi()
        .hdel(endpoints, id)
        .zrem(due, id)
        .unlink(of.cursors(id), of.deliveries(id), of.failed(id), of.totals(id))
        .exec();
    },

    /**
     * Adds an endpoint (`before` null), changes it, or removes it (`after` null), unless it is not as it was read. `ends`: where the logs of
     * its lanes end, for a new one. A worker looks at it at `dueAt`.
     */
    change(
      id: string,
      before: Endpoint | null,
      after: Endpoint | null,
      { dueAt = 0, ends = new Map() }: { dueAt?: number; ends?: Cursors } = {},
    ): Promise<Change> {
      return changeScript.run(
        redis,
        {
          endpoints,
          due,
          cursors: of.cursors(id),
          deliveries: of.deliveries(id),
          failed: of.failed(id),
          totals: of.totals(id),
        },
        {
          ...{ id, before: before?.json ?? '', after: after === null ? '' : packEndpoint(after), dueAt },
          ...{ most: MAX_ENDPOINTS, mostOfKey: MAX_OF_KEY, mostOfLane: MAX_OF_LANE },
        },
        [],
        [...ends].flat(),
      );
    },

    cursors: async (id: string): Promise<Map<string, string>> =>
      new Map(Object.entries(await redis.hgetall(of.cursors(id)))),

    /** Stores deliveries with the cursor behind them. Returns false if another process was faster, or the endpoint was removed. */
    store(id: string, { cursor, from, to, removed = 0, deliveries }: Step): Promise<boolean> {
      return storeScript.run(
        redis,
        { endpoints, cursors: of.cursors(id), deliveries: of.deliveries(id), totals: of.totals(id) },
        { endpoint: id, cursor, from, to, removed },
        [],
        deliveries.flatMap((delivery) => [delivery.id, packDelivery(delivery)]),
      );
    },

    deliveries: async (id: string): Promise<Delivery[]> => unpackAll(await redis.hgetall(of.deliveries(id))),
    /** The failed deliveries of an endpoint, in no particular order. One may come twice while others are stored. */
    async *failed(id: string): AsyncGenerator<readonly Delivery[]> {
      for (let cursor = '0'; ; ) {
        const [next, flat] = await redis.hscan(of.failed(id), cursor, 'COUNT', READ_AT_ONCE);
        yield flat.flatMap((name, at) =>
          at % 2 === 0 ? (readOrNull(() => unpackDelivery(name, flat[at + 1] ?? '')) ?? []) : [],
        );
        cursor = next;
        if (cursor === '0') return;
      }
    },
    /** The failed deliveries of an endpoint whose ids follow one, in the order of their ids, and the last id if there are more. */
    async failedAfter(
      id: string,
      after: string,
      limit: number,
    ): Promise<{ readonly deliveries: readonly Delivery[]; readonly next: string | null }> {
      const ids = (await redis.hkeys(of.failed(id))).filter((each) => each > after).sort();
      const some = ids.slice(0, limit);
      const jsons = some.length === 0 ? [] : await redis.hmget(of.failed(id), ...some);
      const deliveries = some.flatMap(
        (name, at) => readOrNull(() => unpackDelivery(name, jsons[at] ?? '')) ?? [],
      );
      return { deliveries, next: some.length < ids.length ? (some.at(-1) ?? null) : null };
    },
    async failedWithId(id: string, delivery: string): Promise<Delivery | null> {
      const json = await redis.hget(of.failed(id), delivery);
      return json === null ? null : unpackDelivery(delivery, json);
    },

    /** Returns false if the delivery was settled already. */
    settle(
      id: string,
      { delivery, by = [], isGivenUp = false, health, delivered = 0, results = 0, removed = 0 }: Settlement,
    ): Promise<boolean> {
      return settleScript.run(
        redis,
        { deliveries: of.deliveries(id), failed: of.failed(id), totals: of.totals(id) },
        {
          id: delivery.id,
          givenUp: isGivenUp ? packDelivery(delivery) : '',
          health: health === undefined ? '' : JSON.stringify(health),
          ...{ delivered, results, removed, most: MAX_FAILED },
        },
        [],
        by.flatMap((one) => [one.id, packDelivery(one)]),
      );
    },

    /** Takes failed deliveries back among those that are sent. Returns how many there were. */
    async replay(id: string, deliveries: readonly Delivery[]): Promise<number> {
      if (deliveries.length === 0) return 0;
      const packed = deliveries.flatMap((one) => [one.id, packDelivery(one)]);
      await redis
        .multi()
        .hset(of.deliveries(id), ...packed)
        .hdel(of.failed(id), ...deliveries.map((one) => one.id))
        .zadd(due, 0, id)
        .exec();
      return deliveries.length;
    },

    async totals(id: string): Promise<Totals> {
      const stored = await redis.hgetall(of.totals(id));
      const { health, ...counts } = readOrNull(() => totals.parse(stored)) ?? totals.parse({});
      return { ...counts, health: { ...NEW_HEALTH, ...readOrNull(() => JSON.parse(health)) } };
    },
    /** Forgets how the requests to an endpoint have gone, and has everything that waits sent at once. */
    async beginAnew(id: string, now: number): Promise<void> {
      await redis.hset(of.totals(id), 'health', JSON.stringify(NEW_HEALTH));
      for (const delivery of unpackAll(await redis.hgetall(of.deliveries(id))))
        await this.settle(id, { delivery, by: [{ ...delivery, dueAt: now }] });
    },

    /** How many endpoints there are in each state. */
    async byState(): Promise<WebhookTotals> {
      const states = await Promise.all(
        (await this.endpoints()).map(async ({ id, disabledBecause }) => {
          if (disabledBecause !== null) return 'disabled';
          return (await this.totals(id)).health.failingSince > 0 ? 'failing' : 'enabled';
        }),
      );
      return perName(
        ['enabled', 'disabled', 'failing'],
        (state) => states.filter((each) => each === state).length,
      );
    },

    /** How many deliveries wait, and how many were given up on. */
    async counts(id: string): Promise<{ waiting: number; failed: number }> {
      const [waiting, failed] = await Promise.all([redis.hlen(of.deliveries(id)), redis.hlen(of.failed(id))]);
      return { waiting, failed };
    },

    /** Schedules the next turn of an endpoint, ms, unless another process has scheduled one since {@link takeDue}. */
    async setDue(id: string, at: number): Promise<void> {
      await redis.zadd(due, 'NX', at, id);
    },
    /** Unschedules the next turn of an endpoint, because its turn begins. Its job wakes it if the process dies. */
    async takeDue(id: string): Promise<void> {
      await redis.zrem(due, id);
    },
    /** The endpoints that a worker is to look at now. */
    due: (now: number): Promise<string[]> => redis.zrangebyscore(due, 0, now),
  };
}

/** See {@link webhookStore}. */
export type WebhookStore = ReturnType<typeof webhookStore>;

const unpackAll = (all: Readonly<Record<string, string>>): Delivery[] =>
  Object.entries(all)
    .flatMap(([id, json]) => readOrNull(() => unpackDelivery(id, json)) ?? [])
    .sort((a, b) => a.createdAt - b.createdAt);
