import { STATUS_LETTER } from '../../campaign/states/recipient.js';
import type { DeliveryReport } from '../../service/client/notification.js';
import { activate, bySweep } from '../jobs/wake.js';
import type { Located } from '../recipients/request-index.js';
import { type PlacedWord, placedWords, storedWord } from '../recipients/status-words.js';
import {
  type BatchNumbers,
  batchOfCorrelator,
  namedByCorrelator,
  type RecentlySettled,
} from './batch-lookup.js';
import type {
  EarlyReports,
  NotificationStore,
  RequestReports,
  SettleResult,
  WaitingReports,
} from './notification-store.js';
import type { NotifiedLane } from './notified-lane.js';

/** Reports that are settled together: about 10 ms of Redis. */
export const REPORTS_PER_CALL = 500;
/** A request may become known between its lookup and the script, and is then looked up again, so often at most. */
const MAX_PASSES = 3;

/** The reports of one request. */
interface MergedReports {
  /** '' if no notification names an id. */
  readonly requestId: string;
  readonly correlator: string | null;
  readonly sender: string | null;
  /** By number (E.164, with its plus): N, C, T, or I. */
  readonly letters: Map<string, string>;
  /** The service's own words for some of them, as Redis stores them. */
  readonly words: Map<string, string>;
}

/**
 * Merges reports by request, in the order in which they came. A final status replaces one that is not final. Two final
 * statuses that contradict each other stay apart, in two entries of the request, so that the contradiction is counted. Pure.
 */
export function mergeReports(reports: readonly DeliveryReport[]): MergedReports[] {
  const byRequest = new Map<string, MergedReports[]>();
  for (const { requestId, correlator, sender, number, status, word } of reports) {
    if (requestId === null && correlator === null) continue;
    const name = requestId === null ? `correlator ${correlator}` : `request ${requestId}`;
    const entries = byRequest.get(name) ?? [];
    byRequest.set(name, entries);
    const letter = STATUS_LETTER[status];
    const entry = entries.find(({ letters }) => {
      const held = letters.get(number) ?? 'N';
      return held === letter || !isFinal(held) || !isFinal(letter);
    });
    const stored: [string, string][] = word === undefined ? [] : [[number, storedWord(word)]];
    if (entry === undefined) {
      const letters = new Map([[number, letter]]);
      entries.push({ requestId: requestId ?? '', correlator, sender, letters, words: new Map(stored) });
    } else {
      const held = entry.letters.get(number);
      const isNews = held === undefined || held === 'N' || (held === 'C' && isFinal(letter));
      if (isNews) entry.letters.set(number, letter);
      if (isNews && letter !== 'N') entry.words.delete(number);
      if (isNews) for (const [of, text] of stored) entry.words.set(of, text);
    }
  }
  return [...byRequest.values()].flat();
}

/** Whether no later report replaces the status. */
const isFinal = (letter: string): boolean => letter === 'T' || letter === 'I';

/** What {@link reportSettler} works with. */
interface SettlerOptions {
  readonly lane: NotifiedLane;
  readonly store: NotificationStore;
  readonly numbersOf: BatchNumbers;
  readonly recentlySettled: RecentlySettled;
  /** Ends the wait for a Redis that does not respond. */
  readonly signal: AbortSignal;
}

/** Looks up the requests of one lane's reports and settles those that are known; the reports of the others wait in Redis. */
export function reportSettler(options: SettlerOptions) {
  const { lane, store, numbersOf, recentlySettled, signal } = options;
  const settledBatch = (requestId: string) => recentlySettled.find(lane.id, requestId);
  const locate = (requestIds: readonly string[]) => lane.retry(() => store.locate(requestIds), signal);
  const settle = async (known: readonly RequestReports[], early: readonly EarlyReports[]) => {
    const change = () => store.settle(known, early);
    // A campaign may have ended.
    const result = await lane.retry(
      () => activate(lane, change, ({ changed }) => (changed > 0 ? bySweep() : null)),
      signal,
    );
    lane.emit(result.events);
    return result;
  };

  /** The batch that a report names by its reference, if the lane's service is documented to repeat it. */
  const referred = (correlator: string | null | undefined): Located | null =>
    lane.rules.byReference === true ? batchOfCorrelator(correlator ?? null) : null;

  /** Where each request lies: recently settled, named by its reference, in the index, or named by our own correlator. */
  const locateAll = async (all: readonly MergedReports[]): Promise<(Located | null)[]> => {
    const ids = all
      .filter(({ correlator }) => referred(correlator) === null)
      .map(({ requestId }) => requestId)
      .filter((requestId) => requestId !== '' && settledBatch(requestId) === undefined);
    const located = ids.length === 0 ? [] : await locate(ids);
    const byId = new Map(ids.map((id, at) => [id, located[at] ?? null]));
    return all.map(({ requestId, correlator }) =>
      requestId === ''
        ? batchOfCorrelator(correlator)
        : (settledBatch(requestId) ?? referred(correlator) ?? byId.get(requestId) ?? null),
    );
  };

  /** One letter per recipient of the batch, and the service's own words for some; null if the reports are about none of them. */
  const newsOf = async (
    located: Located,
    letterOf: (digits: string) => string | undefined,
    wordOf: (digits: string) => string | undefined,
  ): Promise<{ letters: string; words: readonly PlacedWord[] | undefined } | null> => {
    const numbers = (await numbersOf(located)) ?? [];
    const letters = numbers.map((digits) => letterOf(digits) ?? '-').join('');
    if (!/[^-]/.test(letters)) return null;
    return { letters, words: placedWords(numbers.length, (place) => wordOf(numbers[place] ?? '')) };
  };

  /** A status that is not final changes nothing of a request that is settled. */
  const isStale = ({ requestId, letters }: MergedReports): boolean =>
    settledBatch(requestId) !== undefined && [...letters.values()].every((letter) => letter === 'N');

  return {
    /**
     * Settles a burst. `requests`: those of which something has changed; `discarded`: those whose reports Redis discarded,
     * because too many wait; `last`: the last reply of Redis, or null if there was nothing to settle.
     */
    async burst(reports: readonly DeliveryReport[]) {
      let open = mergeReports(reports);
      /** Named by a reference whose batch has no such request yet: its response may be on its way. */
      const unrecorded = new Set<string>();
      let [requests, discarded] = [0, 0];
      let last: SettleResult | null = null;
      for (let pass = 0; pass < MAX_PASSES && open.length > 0; pass += 1) {
        const places = await locateAll(open);
        const known: RequestReports[] = [];
        const early: EarlyReports[] = [];
        for (const [at, merged] of open.entries()) {
          if (isStale(merged)) continue;
          const { requestId } = merged;
          const located = unrecorded.has(requestId) ? null : (places[at] ?? null);
          if (located === null) {
            if (requestId !== '') early.push(earlyReports(merged));
            continue;
          }
          const { letters, words } = merged;
          const news = await newsOf(
            located,
            (digits) => letters.get(`+${digits}`),
            (digits) => words.get(`+${digits}`),
          );
          if (news !== null) known.push({ requestId, located, ...news });
        }
        if (known.length + early.length === 0) break;
        last = await settle(known, early);
        for (const { requestId, located, letters } of known) {
          if (requestId !== '' && /^[TI]+$/.test(letters)) recentlySettled.add(lane.id, requestId, located);
        }
        requests += last.changed;
        discarded += last.discarded;
        const again = new Set([...last.nowKnown, ...last.unrecorded]);
        for (const requestId of last.unrecorded) unrecorded.add(requestId);
        open = open.filter(({ requestId }) => again.has(requestId));
      }
      return { requests, discarded, last };
    },

    /** The same for reports that have waited. `unknown`: those whose request is still not known. */
    async waiting(waiting: readonly WaitingReports[]) {
      const ids = waiting.flatMap(({ correlator, requestId }) =>
        referred(correlator) === null ? [requestId] : [],
      );
      const located = ids.length === 0 ? [] : await locate(ids);
      const byId = new Map(ids.map((id, at) => [id, located[at] ?? null]));
      const places = waiting.map(
        ({ correlator, requestId }) => referred(correlator) ?? byId.get(requestId) ?? null,
      );
      const known: RequestReports[] = [];
      for (const [at, { requestId, letters: byDigits, words, stored }] of waiting.entries()) {
        const located = places[at] ?? null;
        if (located === null) continue;
        const news = await newsOf(
          located,
          (digits) => byDigits[digits],
          (digits) => words?.[digits],
        );
        if (news !== null) known.push({ requestId, located, ...news, stored });
      }
      // Without entries the script still returns the counts.
      let last = await settle(known.slice(0, REPORTS_PER_CALL), []);
      const unrecorded = new Set(last.unrecorded);
      for (let from = REPORTS_PER_CALL; from < known.length; from += REPORTS_PER_CALL) {
        last = await settle(known.slice(from, from + REPORTS_PER_CALL), []);
        for (const requestId of last.unrecorded) unrecorded.add(requestId);
      }
      const isUnknown = ({ requestId }: WaitingReports, at: number) =>
        (places[at] ?? null) === null || unrecorded.has(requestId);
      return { last, unknown: waiting.filter(isUnknown) };
    },
  };
}

function earlyReports({ requestId, sender, correlator, letters, words }: MergedReports): EarlyReports {
  const byDigits = Object.fromEntries([...letters].map(([number, letter]) => [number.slice(1), letter]));
  const ownWords = Object.fromEntries([...words].map(([number, word]) => [number.slice(1), word]));
  const reference = correlator !== null && namedByCorrelator(correlator) !== null ? { correlator } : {};
  return {
    requestId,
    sender,
    letters: byDigits,
    ...reference,
    ...(words.size === 0 ? {} : { words: ownWords }),
  };
}
