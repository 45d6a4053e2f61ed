import { z } from 'zod';
import type { Lane } from '../lane/lane.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';
import { digestOf, indexKey, type Located, locateRequests } from '../recipients/request-index.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';
import type { Letters } from '../sending/settlements.js';

/** What was notified of a request that is known. */
export interface KnownNotice {
  /** Empty where the request was found by its correlator. */
  readonly requestId: string;
  readonly located: Located;
  /** A letter each recipient of the batch. */
  readonly letters: Letters;
  /** What has waited under its id, as it was read, if that is what is told. */
  readonly waited?: string;
}

/** What was notified of a request that nobody knows, or not yet. */
export interface EarlyNotice {
  readonly requestId: string;
  /** Without `tel:`; null where the notification does not tell. */
  readonly sender: string | null;
  /** Of our own correlators, the one that it repeats. */
  readonly correlator?: string | undefined;
  /** By the digits of the number: N, T or I. */
  readonly letters: Readonly<Record<string, string>>;
}

/** One that waits, as it is kept, and since when, in the time of the server. */
export interface WaitingNotice extends EarlyNotice {
  readonly text: string;
  readonly cameAt: number;
}

/** What came of a call. */
export interface Notified {
  /** Requests of which something has changed. */
  readonly changes: number;
  /** Ids that were given as unknown and are known by now: to be looked up again. */
  readonly again: readonly string[];
  /** Ids that wait on this lane. */
  readonly waiting: number;
  /** Batches of unknown outcome on this lane. */
  readonly unknown: number;
  /** Ids that there was no room for. */
  readonly tooMany: number;
  /** Server's time. */
  readonly now: number;
  readonly events: readonly ScriptEvent[];
}

const settleScript = loadScript(import.meta.url, './settle-notifications.lua', (reply): Notified => {
  const [changes, again, waiting, unknown, tooMany, now, events] = z
    .tuple([z.number(), z.string(), z.number(), z.number(), z.number(), z.string(), z.string()])
    .parse(reply);
  return {
    changes,
    again: z.array(z.string()).parse(JSON.parse(again)),
    waiting,
    unknown,
    tooMany,
    now: Number(now),
    events: scriptEvents(events),
  };
});

const SETTLE_KEYS = [
  'lane',
  'states',
  'unpolled',
  'polled',
  'ended',
  'lapsing',
  'unknown',
  'early',
  'waiting',
  'callback',
] as const;

/** Of those that wait, so many are read in one go. */
const READ_AT_ONCE = 500;

const early = z.object({ s: z.string(), k: z.string().optional(), r: z.record(z.string(), z.string()) });

/** The notifications of one lane in Redis. Every call is safe to repeat. */
export function notificationStore(
  redis: Redis,
  keys: Keys,
  { name: lane, rules }: Pick<Lane, 'name' | 'rules'>,
) {
  const settleKeys = SETTLE_KEYS.map((name) => keys.lane(lane, name));
  const rulesJson = JSON.stringify(rules);
  const [earlyKey, waitingKey] = [keys.lane(lane, 'early'), keys.lane(lane, 'waiting')];
  return {
    /** Where each of these requests lies; null for those that are not known, or are settled. */
    locate: (requestIds: readonly string[]): Promise<(Located | null)[]> =>
      locateRequests(redis, keys, lane, requestIds),

    /** Applies what is known and keeps the rest for a while. At most some 500 together; with none it tells how it stands. */
    settle(known: readonly KnownNotice[], unknown: readonly EarlyNotice[], now?: number): Promise<Notified> {
      const entries: object[] = [];
      const entryKeys: string[] = [];
      for (const { requestId: id, located, letters, waited: e } of known) {
        const { campaign: c, first: f } = located;
        const digest = digestOf(id);
        entries.push({ id, ...(id === '' ? {} : { d: digest.field }), c, f, letters, e });
        entryKeys.push(
          indexKey(keys, lane, digest),
          statusesKey(keys, lane, c),
          recordsKey(keys, lane, c, f),
        );
      }
      for (const { requestId: id, sender, correlator: k, letters } of unknown) {
        const digest = digestOf(id);
        const key = indexKey(keys, lane, digest);
        entries.push({ id, d: digest.field, s: sender ?? '', k, r: letters });
        entryKeys.push(key, key, key);
      }
      return settleScript.run(
        redis,
        [...settleKeys, ...entryKeys],
        [rulesJson, JSON.stringify(entries), now ?? ''],
      );
    },

    /** Those that wait, the oldest first; `earlyMs` is how long one does. */
    async waiting(earlyMs: number): Promise<WaitingNotice[]> {
      const all = await redis.zrange(waitingKey, '0', '-1', 'WITHSCORES');
      const found: WaitingNotice[] = [];
      for (let from = 0; from < all.length; from += 2 * READ_AT_ONCE) {
        const some = all.slice(from, from + 2 * READ_AT_ONCE);
        const ids = some.filter((_, at) => at % 2 === 0);
        const texts = await redis.hmget(earlyKey, ...ids);
        for (const [at, requestId] of ids.entries()) {
          const text = texts[at];
          if (text === null || text === undefined) continue;
          const { s, k, r } = early.parse(JSON.parse(text));
          const cameAt = Number(some[2 * at + 1]) - earlyMs;
          found.push({ requestId, sender: s === '' ? null : s, correlator: k, letters: r, text, cameAt });
        }
      }
      return found;
    },
  };
}

/** See {@link notificationStore}. */
export type NotificationStore = ReturnType<typeof notificationStore>;
