import { createHash } from 'node:crypto';
import { type CallbackSettings, laneCallback } from '../../base/config/index.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId, LaneName } from '../../base/redis/keys.js';
import { type StoredSubscriptionStatus, subscriptionStatusStore } from './subscription-status.js';

/*
 * "Only one subscription can exist" (interface page, Area A, subscription): per API key, or per client with all its keys? Not shown,
 * so Volley supports both. A lane that finds the address of another lane of its installation shares that lane's subscription.
 */

/** A lane that has not been checked for this many intervals is served by no process. */
const CHECKS_MISSED = 3;

/** Whose addresses the subscriptions of an installation have. */
export interface SharedSubscriptions {
  /** Notes that a subscription is about to be created for this lane. Call it first, so that no address is ever forgotten. */
  remember(url: string, lane: LaneId): Promise<void>;
  /** The lane that created a subscription with this address, now or earlier; null for an address of another system. */
  creatorOf(url: string): Promise<LaneId | null>;
  /** Whether a process still serves this lane, so that notifications to its address are received. */
  isServed(lane: LaneId): Promise<boolean>;
  /** The lanes that share another lane's subscription, by that lane. */
  sharers(): Promise<ReadonlyMap<LaneId, readonly LaneId[]>>;
  /**
   * The other lanes whose requests may be reported at the address that gets the reports of this lane: all but those that two
   * checks in a row have found with a subscription of their own.
   */
  mayShareWith(lane: LaneId): Promise<LaneId[]>;
  /** The lane's name, for people. */
  nameOf(lane: LaneId): string;
}

interface SharedSubscriptionsOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly callback: CallbackSettings;
  /** The lanes of this process: id → name. */
  lanes(): Promise<ReadonlyMap<LaneId, LaneName>>;
  /** How often a lane's subscription is checked, in ms. */
  readonly intervalMs: number;
}

/** Opens them for the lanes of a process. Every lane's id in Redis is a lane of the installation. */
export async function sharedSubscriptions(options: SharedSubscriptionsOptions): Promise<SharedSubscriptions> {
  const { redis, keys, callback, intervalMs } = options;
  const { addresses, names } = keys.registry;
  const configured = await options.lanes();
  const current = new Map(
    [...configured.keys()].map((id) => [normalisedUrl(laneCallback(callback, id).url), id]),
  );
  const registered = new Map<LaneId, LaneName>(Object.entries(await redis.hgetall(names)));
  const statusOf = (lane: LaneId) => subscriptionStatusStore(redis, keys, lane);
  /** The lanes of the installation, and what the last check of each has found, unless that was too long ago. */
  const checked = async () => {
    const lanes = [...new Set([...configured.keys(), ...registered.keys()])];
    return Promise.all(
      lanes.map(async (lane) => {
        const status = await statusOf(lane).read();
        const isOurs = status.state === 'ours' && status.now - status.checkedAt <= CHECKS_MISSED * intervalMs;
        return { lane, status: isOurs ? status : null };
      }),
    );
  };

  return {
    remember: async (url, lane) => void (await redis.hset(addresses, digestOf(url), lane)),
    creatorOf: async (url) =>
      current.get(normalisedUrl(url)) ?? (await redis.hget(addresses, digestOf(url))) ?? null,
    async isServed(lane) {
      if (configured.has(lane)) return true;
      const { checkedAt, now } = await statusOf(lane).read();
      return checkedAt > 0 && now - checkedAt <= CHECKS_MISSED * intervalMs;
    },
    async sharers() {
      const sharers = new Map<LaneId, LaneId[]>();
      for (const { lane, status } of await checked()) {
        if (status === null || status.via === '') continue;
        sharers.set(status.via, [...(sharers.get(status.via) ?? []), lane]);
      }
      return sharers;
    },
    async mayShareWith(wanted) {
      const all = await checked();
      const addressOf = (lane: LaneId, status: StoredSubscriptionStatus | null) => status?.via || lane;
      const mine = addressOf(wanted, all.find(({ lane }) => lane === wanted)?.status ?? null);
      return all.flatMap(({ lane, status }) => {
        if (lane === wanted) return [];
        const isSure = status !== null && status.checkedAt > status.oursSince;
        return isSure && addressOf(lane, status) !== mine ? [] : [lane];
      });
    },
    nameOf: (lane): string => configured.get(lane) ?? registered.get(lane) ?? lane,
  };
}

/** A service may spell the host, the port, and the trailing slash in its own way. */
export function normalisedUrl(url: string): string {
  if (url.length > MAX_LENGTH || !URL.canParse(url)) return url;
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`;
}

/** The longest address that is compared or shown. */
export const MAX_LENGTH = 2_048;

/** The address contains a secret, so Redis gets only a digest. */
function digestOf(url: string): string {
  return createHash('sha256').update(normalisedUrl(url)).digest('base64url').slice(0, 22);
}
