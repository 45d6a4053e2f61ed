import type { SubscriptionKind } from '../../base/config/index.js';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { BUCKETS } from '../recipients/request-index.js';

/** Results of a check. `refused` and `unanswered`: the check itself failed. */
export const SUBSCRIPTION_STATES = ['ours', 'foreign', 'refused', 'unanswered'] as const;
/** See {@link SUBSCRIPTION_STATES}. */
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

/** What the last check of a lane's subscription found. Times are of the clock of Redis; null: never. */
export interface SubscriptionStatus {
  /** Null before the first check. */
  readonly state: SubscriptionState | null;
  /** The redacted address of the subscription, or why the check failed. */
  readonly detail: string;
  readonly checkedAt: string | null;
  /** The first of the checks that have found it ours without a break. */
  readonly oursSince: string | null;
  /** When the last notification came. */
  readonly heardAt: string | null;
  readonly now: string;
}

/** The same as it is stored, with times in ms, 0 for never. */
export interface StoredSubscriptionStatus {
  /** '' before the first check. */
  readonly state: SubscriptionState | '';
  /** The redacted address of the subscription, or why the check failed. */
  readonly detail: string;
  /** The lane whose subscription it shares; '' if it has its own, or none. */
  readonly via: LaneId;
  /** Identifies our address and token at the time of the check. */
  readonly fingerprint: string;
  readonly checkedAt: number;
  /** The first of the checks that have found it ours without a break. */
  readonly oursSince: number;
  /** When the last notification came. */
  readonly heardAt: number;
  readonly now: number;
}

const FIELDS = ['state', 'detail', 'via', 'fingerprint', 'checkedAt', 'oursSince', 'heardAt'] as const;

/** The status of a lane's subscription in Redis, and the lease of the process that checks it. */
export function subscriptionStatusStore(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  of: SubscriptionKind = 'callback',
) {
  const key = keys.lane(lane, of === 'inbound' ? 'inboundCallback' : 'callback');
  const leaseKey = keys.lane(lane, of === 'inbound' ? 'inboundReconciler' : 'reconciler');
  return {
    async read(): Promise<StoredSubscriptionStatus> {
      const [[state, detail, via, fingerprint, checkedAt, oursSince, heardAt], now] = await Promise.all([
        redis.hmget(key, ...FIELDS),
        serverTime(redis),
      ]);
      return {
        state: SUBSCRIPTION_STATES.find((known) => known === state) ?? '',
        detail: detail ?? '',
        via: via ?? '',
        fingerprint: fingerprint ?? '',
        checkedAt: Number(checkedAt ?? 0),
        oursSince: Number(oursSince ?? 0),
        heardAt: Number(heardAt ?? 0),
        now,
      };
    },

    async write(
      found: Pick<StoredSubscriptionStatus, 'state' | 'detail' | 'fingerprint' | 'via'>,
    ): Promise<void> {
      const now = await serverTime(redis);
      const write = redis.multi().hset(key, { ...found, checkedAt: now });
      if (found.state === 'ours') write.hsetnx(key, 'oursSince', now);
      else write.hdel(key, 'oursSince');
      await write.exec();
    },

    /** Accepted requests that still await a report. */
    async awaitingReports(): Promise<number> {
      if (of === 'inbound') return 0;
      const counts = await Promise.all(
        ['unpolled', 'polled'].map((name) => redis.zcard(keys.lane(lane, name))),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    },

    /** Takes the lease for so many ms; false while another process has it. */
    async acquireLease(process: string, forMs: number): Promise<boolean> {
      return (await redis.set(leaseKey, process, 'PX', forMs, 'NX')) === 'OK';
    },
    /** Not atomic: in a rare case it ends another process's lease, and two checks at a time do no harm. */
    async releaseLease(process: string): Promise<void> {
      if ((await redis.get(leaseKey)) === process) await redis.del(leaseKey);
    },

    /** Deletes what notifications left in Redis, on a lane that has them switched off now. */
    async removeAll(): Promise<void> {
      if ((await redis.exists(key)) === 0) return;
      const buckets = Array.from({ length: BUCKETS }, (_, bucket) => keys.lane(lane, `requests:${bucket}`));
      const others = ['early', 'waiting', 'unnamed'].map((name) => keys.lane(lane, name));
      await redis.unlink(key, ...others, ...buckets);
    },
  };
}

/** Shows a stored status to programs. */
export function subscriptionStatusOf(stored: StoredSubscriptionStatus): SubscriptionStatus {
  const { state, detail, now } = stored;
  const time = (ms: number): string | null => (ms === 0 ? null : new Date(ms).toISOString());
  return {
    state: state === '' ? null : state,
    detail,
    checkedAt: time(stored.checkedAt),
    oursSince: time(stored.oursSince),
    heardAt: time(stored.heardAt),
    now: new Date(now).toISOString(),
  };
}

/** See {@link subscriptionStatusStore}. */
export type SubscriptionStatusStore = ReturnType<typeof subscriptionStatusStore>;
