import { z } from 'zod';
import { OF_NO_EPOCH } from '../lane/commands.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';
import { everAccepted } from '../recipients/ever-accepted.js';
import { digestOf, indexKey, type Located, locatedIn, locateRequests } from '../recipients/request-index.js';
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

/** A batch of unknown outcome and the request that it may be. */
export interface Suspicion {
  readonly number: number;
  readonly campaign: string;
  readonly first: number;
  readonly requestId: string;
}

const notifyScript = loadScript(import.meta.url, './settle-notifications.lua', (reply): Notified => {
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
const suspectScript = loadScript(import.meta.url, './match-unknown.lua', (reply) => reply === 1);

const NOTIFY_KEYS = [
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
const SUSPECT_KEYS = ['lane', 'unknown', 'unpolled', 'early', 'waiting'] as const;

/** Of those that wait, so many are read in one go. */
const READ_AT_ONCE = 500;

/** Of a claim: when it was made, or when it was put back after Redis had forgotten it; that one is of no epoch. */
const sending = z.object({ at: z.number(), e: z.number() });
const early = z.object({ s: z.string(), k: z.string().optional(), r: z.record(z.string(), z.string()) });

/** What notifications do to a lane. `rules` is the JSON of its rules, with `notify`. Each call is safe to repeat. */
export function laneNotifications(redis: Redis, keys: Keys, lane: string, rules: string) {
  const named = (names: readonly string[]): string[] => names.map((name) => keys.lane(lane, name));
  const notifyKeys = named(NOTIFY_KEYS);
  const suspectKeys = named(SUSPECT_KEYS);
  const [earlyKey, waitingKey] = [keys.lane(lane, 'early'), keys.lane(lane, 'waiting')];
  const say = (
    word: 'suspect' | 'clear',
    { number, campaign, first, requestId }: Suspicion,
    now?: number,
  ) => {
    const digest = digestOf(requestId);
    return suspectScript.run(
      redis,
      [...suspectKeys, indexKey(keys, lane, digest)],
      [word, number, campaign, first, requestId, digest.field, now ?? ''],
    );
  };
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
      return notifyScript.run(
        redis,
        [...notifyKeys, ...entryKeys],
        [rules, JSON.stringify(entries), now ?? ''],
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

    /**
     * When the oldest of the sends in flight was claimed, in the time of the server: their answers may still name what
     * has come since then. Infinity where none is in flight; 0 where one was put back that Redis had forgotten.
     */
    async sendingSince(): Promise<number> {
      const all = await redis.hvals(keys.lane(lane, 'claims'));
      return all.reduce((least, json) => {
        const { at, e } = sending.parse(JSON.parse(json));
        return Math.min(least, e === OF_NO_EPOCH ? 0 : at);
      }, Number.POSITIVE_INFINITY);
    },

    /** Batches whose request has an id that nobody was told: what is told of an unknown id may be theirs. */
    async unnamed(): Promise<Located[]> {
      const members = await redis.zrange(keys.lane(lane, 'unnamed'), '0', '-1');
      return members.map(locatedIn).filter((located) => located !== null);
    },

    /** Which of these ids were once given to a request of ours; a few too many. */
    everAccepted: (requestIds: readonly string[]): Promise<ReadonlySet<string>> =>
      everAccepted(redis, keys, lane, requestIds),

    /** Has the request asked about; false where the batch is settled, or the request is known. */
    suspect: (suspicion: Suspicion, now?: number): Promise<boolean> => say('suspect', suspicion, now),

    /** It is not that request. */
    clear: (suspicion: Suspicion): Promise<boolean> => say('clear', suspicion),
  };
}
