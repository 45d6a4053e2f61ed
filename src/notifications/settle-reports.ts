import type { DeliveryReport } from '../gateway/notification.js';
import type { Lane } from '../lane/lane.js';
import type { Located } from '../recipients/request-index.js';
import type { BatchNumbers } from './batch-numbers.js';
import { type Gathered, gather, ownBatch } from './merged-reports.js';
import type {
  EarlyNotice,
  KnownNotice,
  NotificationStore,
  Notified,
  WaitingNotice,
} from './notification-store.js';
import type { SettledLately } from './recently-settled.js';

/** Reports that are settled together: some 10 ms of Redis. */
export const TOGETHER = 500;
/** A lookup that has changed in between is repeated so often. */
const PASSES = 3;

/** What {@link reportSettler} goes by. */
export interface SettlerOptions {
  readonly lane: Lane;
  readonly store: NotificationStore;
  readonly numbersOf: BatchNumbers;
  readonly lately: SettledLately;
  /** Ends the asking of a Redis that does not answer. */
  readonly signal: AbortSignal;
}

/** What came of settling reports. */
export interface Settled {
  /** Requests of which something has changed. */
  readonly requests: number;
  /** Ids that there was no room for. */
  readonly tooMany: number;
  /** How the lane stood after; null where there was nothing to ask Redis. */
  readonly stands: Notified | null;
}

/** Looks up the requests that reports are of, and applies what is known; the rest waits under its id. */
export interface ReportSettler {
  reports(reports: readonly DeliveryReport[]): Promise<Settled>;
  /** The same for what has waited. `unknown`: those that nobody knows still. */
  waiting(
    waiting: readonly WaitingNotice[],
  ): Promise<{ readonly stands: Notified; readonly unknown: readonly WaitingNotice[] }>;
}

/** Settles the reports of one lane. */
export function reportSettler({ lane, store, numbersOf, lately, signal }: SettlerOptions): ReportSettler {
  const answered = <Answer>(run: () => Promise<Answer>) => lane.answered(run, signal);
  const settledAt = (requestId: string) => lately.find(lane.name, requestId);

  /** Where each request lies: settled lately, found by its id, or named by our own correlator. */
  const locate = async (all: readonly Gathered[]): Promise<(Located | null)[]> => {
    const asked = all.filter(({ requestId }) => requestId !== '' && settledAt(requestId) === undefined);
    const ids = asked.map(({ requestId }) => requestId);
    const found = ids.length === 0 ? [] : await answered(() => store.locate(ids));
    const byId = new Map(ids.map((id, at) => [id, found[at] ?? null]));
    return all.map(({ requestId, correlator }) =>
      requestId === '' ? ownBatch(correlator) : (settledAt(requestId) ?? byId.get(requestId) ?? null),
    );
  };

  const known = async (
    requestId: string,
    letterOf: (digits: string) => string | undefined,
    located: Located,
  ): Promise<KnownNotice | null> => {
    const numbers = await numbersOf(located);
    const letters = (numbers ?? []).map((number) => letterOf(number) ?? '-').join('');
    return /[^-]/.test(letters) ? { requestId, located, letters } : null;
  };

  const remember = ({ requestId, located, letters }: KnownNotice): void => {
    if (requestId === '' || !/^[TI]+$/.test(letters)) return;
    lately.add(lane.name, requestId, located);
  };

  /** What is not final tells nothing of a request that is settled. */
  const isStale = ({ requestId, letters }: Gathered): boolean =>
    settledAt(requestId) !== undefined && [...letters.values()].every((letter) => letter === 'N');

  return {
    async reports(reports) {
      let open = gather(reports);
      let [requests, tooMany] = [0, 0];
      let stands: Notified | null = null;
      for (let pass = 0; pass < PASSES && open.length > 0; pass += 1) {
        const places = await locate(open);
        const notices: KnownNotice[] = [];
        const early: EarlyNotice[] = [];
        for (const [at, one] of open.entries()) {
          const located = places[at] ?? null;
          if (isStale(one)) continue;
          if (located === null) {
            if (one.requestId !== '') early.push(nameless(one));
            continue;
          }
          const notice = await known(one.requestId, (digits) => one.letters.get(`+${digits}`), located);
          if (notice !== null) notices.push(notice);
        }
        if (notices.length + early.length === 0) break;
        stands = await answered(() => store.settle(notices, early));
        lane.tell(stands.events);
        for (const notice of notices) remember(notice);
        requests += stands.changes;
        tooMany += stands.tooMany;
        const again = new Set(stands.again);
        open = open.filter(({ requestId }) => again.has(requestId));
      }
      return { requests, tooMany, stands };
    },

    async waiting(waiting) {
      const places = await answered(() => store.locate(waiting.map(({ requestId }) => requestId)));
      const notices: KnownNotice[] = [];
      for (const [at, { requestId, letters, text }] of waiting.entries()) {
        const located = places[at] ?? null;
        if (located === null) continue;
        const byDigits = new Map(Object.entries(letters));
        const notice = await known(requestId, (digits) => byDigits.get(digits), located);
        if (notice !== null) notices.push({ ...notice, waited: text });
      }
      // With none it tells how the lane stands.
      let stands = await answered(() => store.settle(notices.slice(0, TOGETHER), []));
      lane.tell(stands.events);
      for (let from = TOGETHER; from < notices.length; from += TOGETHER) {
        stands = await answered(() => store.settle(notices.slice(from, from + TOGETHER), []));
        lane.tell(stands.events);
      }
      return { stands, unknown: waiting.filter((_, at) => (places[at] ?? null) === null) };
    },
  };
}

function nameless({ requestId, sender, correlator, letters }: Gathered): EarlyNotice {
  const byDigits = Object.fromEntries([...letters].map(([number, letter]) => [number.slice(1), letter]));
  const own = correlator !== null && ownBatch(correlator) !== null ? { correlator } : {};
  return { requestId, sender, letters: byDigits, ...own };
}
