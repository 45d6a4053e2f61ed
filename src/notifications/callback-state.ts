import { BUCKETS } from '../recipients/request-index.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { serverTime } from '../redis/server-time.js';

/** Whose subscription was there, or what became of asking for one. */
export const SUBSCRIPTION_STATES = ['ours', 'foreign', 'refused', 'unanswered'] as const;
/** See {@link SUBSCRIPTION_STATES}. */
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

/** How a lane's notifications stood when that was last looked at. Times in ms of the server's clock, 0 for never. */
export interface CallbackState {
  readonly state: SubscriptionState | '';
  /** Whose address is there, or why nobody knows. */
  readonly about: string;
  /** Of the address and token of ours that it was looked at for; two that differ are marked differently. */
  readonly mark: string;
  readonly checkedAt: number;
  /** Since when it has been ours, as far as that was looked at. */
  readonly oursSince: number;
  /** When the last notification came. */
  readonly heardAt: number;
  readonly now: number;
}

const FIELDS = ['state', 'about', 'mark', 'checkedAt', 'oursSince', 'heardAt'] as const;

/** What is kept of a lane's subscription; the subscription itself is the service's. */
export function callbackState(redis: Redis, keys: Keys, lane: string) {
  const key = keys.lane(lane, 'callback');
  const leaseKey = keys.lane(lane, 'keeper');
  return {
    async read(): Promise<CallbackState> {
      const [[state, about, mark, checkedAt, oursSince, heardAt], now] = await Promise.all([
        redis.hmget(key, ...FIELDS),
        serverTime(redis),
      ]);
      return {
        state: SUBSCRIPTION_STATES.find((known) => known === state) ?? '',
        about: about ?? '',
        mark: mark ?? '',
        checkedAt: Number(checkedAt ?? 0),
        oursSince: Number(oursSince ?? 0),
        heardAt: Number(heardAt ?? 0),
        now,
      };
    },
    async write({ state, about, mark }: Pick<CallbackState, 'state' | 'about' | 'mark'>): Promise<void> {
      const now = await serverTime(redis);
      const found = redis.multi().hset(key, { state, about, mark, checkedAt: now });
      if (state === 'ours') found.hsetnx(key, 'oursSince', now);
      else found.hdel(key, 'oursSince');
      await found.exec();
    },
    /** Requests that still await a report. */
    async awaiting(): Promise<number> {
      const counts = await Promise.all(
        ['unpolled', 'polled'].map((name) => redis.zcard(keys.lane(lane, name))),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    },
    /** One process at a time sees to the subscription; true for the one that may, for so many ms. */
    async lease(me: string, forMs: number): Promise<boolean> {
      return (await redis.set(leaseKey, me, 'PX', forMs, 'NX')) === 'OK';
    },
    /** Gives it back. Another's is left alone, as far as a look right before can tell; two that look do no harm. */
    async release(me: string): Promise<void> {
      if ((await redis.get(leaseKey)) === me) await redis.del(leaseKey);
    },
    /** What notifications have left behind goes where they have been switched off. */
    async forget(): Promise<void> {
      if ((await redis.exists(key)) === 0) return;
      const buckets = Array.from({ length: BUCKETS }, (_, bucket) => keys.lane(lane, `requests:${bucket}`));
      const others = ['early', 'waiting', 'unnamed'].map((name) => keys.lane(lane, name));
      await redis.unlink(key, ...others, ...buckets);
    },
  };
}

/** See {@link callbackState}. */
export type CallbackStore = ReturnType<typeof callbackState>;
