import { z } from 'zod';
import type { Letters } from '../claim/settlement.js';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';
import { digestOf, indexKey, type Located, locateRequests } from '../recipients/request-index.js';
import type { PlacedWord } from '../recipients/status-words.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../scripts/script-events.js';

/** Reports of a request whose batch is known. */
export interface RequestReports {
  /** '' if the batch was found by its correlator. */
  readonly requestId: string;
  readonly located: Located;
  /** One letter per recipient of the batch. */
  readonly letters: Letters;
  /** The service's own words for some of them. */
  readonly words?: readonly PlacedWord[] | undefined;
  /** Set for reports that have waited: their text in Redis, as it was read. */
  readonly stored?: string;
}

/** Reports of a request that Volley does not know, or not yet. */
export interface EarlyReports {
  readonly requestId: string;
  /** Without `tel:`; null if the notification names none. */
  readonly sender: string | null;
  /** Our correlator, if the notification repeats it. */
  readonly correlator?: string | undefined;
  /** By the digits of the number: N, T, or I. */
  readonly letters: Readonly<Record<string, string>>;
  /** The service's own words for some of them, as Redis stores them. */
  readonly words?: Readonly<Record<string, string>> | undefined;
}

/** Early reports that wait in Redis for their request to become known. */
export interface WaitingReports extends EarlyReports {
  /** Their text in Redis. */
  readonly stored: string;
  /** When the first of them came, in ms of Redis time. */
  readonly receivedAt: number;
}

/** Reply of {@link notificationStore}'s `settle`. */
export interface SettleResult {
  /** Requests of which something has changed. */
  readonly changed: number;
  /** Requests that were passed as unknown and have become known: look them up again. */
  readonly nowKnown: readonly string[];
  /** Requests whose batch was named by its reference, and has no such request yet. */
  readonly unrecorded: readonly string[];
  /** Requests whose reports wait on this lane. */
  readonly waiting: number;
  /** Batches of this lane with an unknown outcome. */
  readonly unknownOutcomes: number;
  /** Requests whose reports were discarded, because too many wait. */
  readonly discarded: number;
  readonly events: readonly ScriptEvent[];
}

const requestIds = z.array(z.string());
const settled = z.tuple([z.number(), z.string(), z.string(), z.number(), z.number(), z.number(), z.string()]);
const settleScript = laneScript(import.meta.url, './settle-notifications.lua', (reply): SettleResult => {
  const [changed, nowKnown, unrecorded, waiting, unknownOutcomes, discarded, events] = settled.parse(reply);
  return {
    changed,
    nowKnown: requestIds.parse(JSON.parse(nowKnown)),
    unrecorded: requestIds.parse(JSON.parse(unrecorded)),
    waiting,
    unknownOutcomes,
    discarded,
    events: scriptEvents(events),
  };
});

/** Waiting reports that are read in one call. */
const READ_AT_ONCE = 500;

/** Early reports as settle-notifications.lua stores them. */
const storedReports = z.object({
  sender: z.string(),
  correlator: z.string().optional(),
  letters: z.record(z.string(), z.string()),
  words: z.record(z.string(), z.string()).optional(),
  at: z.number(),
});

/** The notifications of one lane in Redis. Every call is safe to repeat. */
export function notificationStore(lane: LaneStore) {
  const { redis, keys, id } = lane;
  const [earlyKey, waitingKey] = [keys.lane(id, 'early'), keys.lane(id, 'waiting')];
  return {
    /** The batch of each request; null if it is not known, or no report can change anything of it any more. */
    locate: (requestIds: readonly string[]): Promise<(Located | null)[]> =>
      locateRequests(redis, keys, id, requestIds),

    /** Settles the reports of known requests and stores the early ones: about 500 per call. With none, it returns the counts. */
    settle(
      known: readonly RequestReports[],
      early: readonly EarlyReports[],
      now?: number,
    ): Promise<SettleResult> {
      const entries: object[] = [];
      const entryKeys: string[] = [];
      for (const { requestId, located, letters, words, stored } of known) {
        const { campaign, first, message } = located;
        const digest = digestOf(requestId);
        const field = requestId === '' ? undefined : digest.field;
        entries.push({ requestId, digest: field, campaign, first, message, letters, words, stored });
        entryKeys.push(
          indexKey(keys, id, digest),
          statusesKey(keys, id, campaign),
          recordsKey(keys, id, campaign, first),
        );
      }
      for (const { requestId, sender, correlator, letters, words } of early) {
        const digest = digestOf(requestId);
        const key = indexKey(keys, id, digest);
        entries.push({ requestId, digest: digest.field, sender: sender ?? '', correlator, letters, words });
        entryKeys.push(key, key, key);
      }
      return settleScript(lane, { entries: JSON.stringify(entries), time: now }, entryKeys);
    },

    /** The reports that wait, oldest first. */
    async waiting(): Promise<WaitingReports[]> {
      const all = await redis.zrange(waitingKey, '0', '-1');
      const waiting: WaitingReports[] = [];
      for (let from = 0; from < all.length; from += READ_AT_ONCE) {
        const ids = all.slice(from, from + READ_AT_ONCE);
        const texts = await redis.hmget(earlyKey, ...ids);
        for (const [at, requestId] of ids.entries()) {
          const stored = texts[at];
          if (stored === null || stored === undefined) continue;
          const report = storedReports.parse(JSON.parse(stored));
          const { sender, correlator, letters, words, at: receivedAt } = report;
          waiting.push({ requestId, sender: sender || null, correlator, letters, words, stored, receivedAt });
        }
      }
      return waiting;
    },
  };
}

/** See {@link notificationStore}. */
export type NotificationStore = ReturnType<typeof notificationStore>;
