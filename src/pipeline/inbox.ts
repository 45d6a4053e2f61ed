import { type Alarm, pause } from '../clock.js';
import type { Events } from '../events.js';
import { type DeliveryReport, plainSender } from '../gateway/notification.js';
import { DamagedError } from '../store/damaged.js';
import type { EarlyNotice, KnownNotice, Notified, WaitingNotice } from '../store/notifications.js';
import type { Located } from '../store/request-index.js';
import type { NumberReader } from '../store/slices.js';
import { fitting, type OpenBatch } from './fitting.js';
import { type Gathered, gather, ownBatch } from './gathered.js';
import type { Lane } from './lane.js';
import { requestReference } from './tell.js';

/*
 *   offer ──► memory ──► after 5 ms: look the ids up ──► notify.lua ──► settled, or waiting under its id
 *                                                                          │
 *   every second while some wait:  known by now? settle ◄──────────────────┤
 *                                  fits one unknown batch? ask about it ◄──┘
 *
 * The service is answered before Redis knows: it never sends a notification again, and polls make up for what is lost.
 */

/** How long a burst is collected. */
const COLLECT_MS = 5;
/** Reports that are settled together: some 10 ms of Redis. */
const TOGETHER = 500;
/** How often those that wait are looked at, at most. */
const ROUND_MS = 1_000;
/** Looking at them may take this part of the time. */
const ROUND_SHARE = 0.05;
/** A flood of those that there is no room for is told of once in so long. */
const TOLD_EVERY_MS = 60_000;
/** Requests that are asked about in one round. */
const SUSPECTED_AT_ONCE = 100;
/** A lookup that has changed in between is repeated so often. */
const PASSES = 3;

/** Reports that the process still has room for, over all lanes. */
export interface Room {
  left: number;
}

/** Where requests lie that were settled last, on any lane. */
export interface SettledLately {
  find(lane: string, requestId: string): Located | undefined;
  add(lane: string, requestId: string, located: Located): void;
}

/** Remembers so many requests, and forgets first what was told first. */
export function settledLately(most: number): SettledLately {
  const held = new Map<string, Located>();
  return {
    find: (lane, requestId) => held.get(`${lane} ${requestId}`),
    add(lane, requestId, located) {
      const name = `${lane} ${requestId}`;
      held.delete(name);
      held.set(name, located);
      const oldest = held.size > most ? held.keys().next().value : undefined;
      if (oldest !== undefined) held.delete(oldest);
    },
  };
}

export interface InboxOptions {
  readonly events: Events;
  readonly numbers: NumberReader;
  /** The sender of a campaign, as it goes on the wire; null for one that is gone. */
  senderOf(lane: string, campaign: string): Promise<string | null>;
  readonly alarm: Alarm;
  readonly monotonic: () => number;
  readonly room: Room;
  readonly lately: SettledLately;
}

/** Takes the notifications of one lane and settles them in batches. */
export interface Inbox {
  /** Takes them, or says false where there is no room. Returns at once. */
  offer(reports: readonly DeliveryReport[]): boolean;
  /** Looks at what other processes have left waiting. */
  start(): void;
  /**
   * Settles what it has, and looks at nothing that waits any more. What is left after 10 s, or when Redis has not answered
   * for 2 s, is let go of and told of.
   */
  stop(): Promise<void>;
}

const STOP_MS = 2_000;
const STOP_TIMES = 5;

export function createInbox(lane: Lane, options: InboxOptions): Inbox {
  const { events, alarm, monotonic, room } = options;
  const { notifications } = lane;
  const earlyMs = lane.rules.early ?? 0;
  const ended = new AbortController();
  const settledAt = (requestId: string) => options.lately.find(lane.name, requestId);
  let held: DeliveryReport[] = [];
  /** Held, or being settled. */
  let inHand = 0;
  let flushing: Promise<void> | undefined;
  let round: (() => void) | undefined;
  let looking: Promise<void> = Promise.resolve();
  let isStopped = false;
  let unknown = 0;
  let hasWaiting = false;

  const answered = <Answer>(run: () => Promise<Answer>) => lane.answered(run, ended.signal);

  const numbersOf = async ({ campaign, first, count }: Located): Promise<readonly string[]> => {
    const read = () => options.numbers(lane.name, campaign, first, count);
    // Nearly always at hand; only what Redis did not answer is asked for with patience.
    const numbers = await read().catch((error: unknown) => {
      if (error instanceof DamagedError) throw error;
      return answered(read);
    });
    return numbers.map(String);
  };

  const remember = ({ requestId, located, letters }: KnownNotice): void => {
    if (requestId === '' || !/^[TI]+$/.test(letters)) return;
    options.lately.add(lane.name, requestId, located);
  };

  /** Where each request lies: settled lately, found by its id, or named by our own correlator. */
  const locate = async (all: readonly Gathered[]): Promise<(Located | null)[]> => {
    const asked = all.filter(({ requestId }) => requestId !== '' && settledAt(requestId) === undefined);
    const ids = asked.map(({ requestId }) => requestId);
    const found = ids.length === 0 ? [] : await answered(() => notifications.locate(ids));
    const byId = new Map(ids.map((id, at) => [id, found[at] ?? null]));
    return all.map(({ requestId, correlator }) =>
      requestId === '' ? ownBatch(correlator) : (settledAt(requestId) ?? byId.get(requestId) ?? null),
    );
  };

  const known = async (one: Gathered, located: Located): Promise<KnownNotice | null> => {
    try {
      const numbers = await numbersOf(located);
      const letters = numbers.map((number) => one.letters.get(`+${number}`) ?? '-').join('');
      return /[^-]/.test(letters) ? { requestId: one.requestId, located, letters } : null;
    } catch (error) {
      // A digest that another id has, a campaign that is gone, or a correlator that is not ours after all.
      if (error instanceof DamagedError) return null;
      throw error;
    }
  };

  const settle = async (reports: readonly DeliveryReport[]): Promise<void> => {
    let open = gather(reports);
    let changes = 0;
    let last: Notified | undefined;
    for (let pass = 0; pass < PASSES && open.length > 0; pass += 1) {
      const places = await locate(open);
      const notices: KnownNotice[] = [];
      const early: EarlyNotice[] = [];
      for (const [at, one] of open.entries()) {
        const located = places[at] ?? null;
        // What is not final tells nothing of a request that is settled.
        const isStale =
          settledAt(one.requestId) !== undefined &&
          [...one.letters.values()].every((letter) => letter === 'N');
        if (isStale) continue;
        if (located === null) {
          if (one.requestId !== '') early.push(nameless(one));
          continue;
        }
        const notice = await known(one, located);
        if (notice !== null) notices.push(notice);
      }
      if (notices.length + early.length === 0) break;
      const done = await answered(() => notifications.settle(notices, early));
      lane.tell(done.events);
      for (const notice of notices) remember(notice);
      changes += done.changes;
      last = done;
      if (done.tooMany > 0) refused(done.tooMany);
      const again = new Set(done.again);
      open = open.filter(({ requestId }) => again.has(requestId));
    }
    if (last === undefined) return;
    stands(last);
    events.emit({
      type: 'notifications.settled',
      lane: lane.name,
      reports: reports.length,
      requests: changes,
      waiting: last.waiting,
    });
  };

  let untold = { notifications: 0, since: Number.NEGATIVE_INFINITY };
  const refused = (more: number): void => {
    const notifications = untold.notifications + more;
    const isTime = monotonic() - untold.since >= TOLD_EVERY_MS;
    untold = isTime ? { notifications: 0, since: monotonic() } : { ...untold, notifications };
    if (isTime)
      events.emit({ type: 'notifications.refused', lane: lane.name, reason: 'room', notifications });
  };

  const stands = ({ waiting, unknown: batches }: Notified): void => {
    unknown = batches;
    if (waiting === 0) return;
    hasWaiting = true;
    lookLater(ROUND_MS);
  };

  const failed = (reports: number, error: unknown): void => {
    if (!ended.signal.aborted) events.emit({ type: 'notifications.failed', lane: lane.name, reports, error });
  };

  const flush = async (): Promise<void> => {
    while (held.length > 0) {
      const some = held.slice(0, TOGETHER);
      held = held.slice(TOGETHER);
      await settle(some).catch((error: unknown) => failed(some.length, error));
      room.left += some.length;
      inHand -= some.length;
    }
  };

  const flushSoon = (): void => {
    flushing ??= new Promise((resolve) => {
      const begin = (): void => {
        void flush().then(() => {
          flushing = undefined;
          resolve();
        });
      };
      if (isStopped) begin();
      else alarm(COLLECT_MS, begin);
    });
  };

  const lookLater = (inMs: number): void => {
    if (isStopped || round !== undefined) return;
    round = alarm(inMs, () => {
      const began = monotonic();
      // Set again by whatever is put by from now on: the look that begins may not see it any more.
      hasWaiting = false;
      looking = look()
        .catch((error: unknown) => {
          hasWaiting = true;
          failed(0, error);
        })
        .then(() => {
          round = undefined;
          if (hasWaiting) lookLater(Math.max(ROUND_MS, (monotonic() - began) / ROUND_SHARE));
        });
    });
  };
  const look = async (): Promise<void> => {
    const waiting = await answered(() => notifications.waiting(earlyMs));
    // Only now: a send that has begun since then is none of theirs, and one of before that has ended has left its mark.
    const sendingSince = await answered(() => notifications.sendingSince());
    const places = await answered(() => notifications.locate(waiting.map(({ requestId }) => requestId)));
    const notices: KnownNotice[] = [];
    for (const [at, one] of waiting.entries()) {
      const located = places[at] ?? null;
      if (located === null) continue;
      const letters = new Map(Object.entries(one.letters).map(([number, letter]) => [`+${number}`, letter]));
      const notice = await known({ ...one, correlator: null, letters }, located);
      if (notice !== null) notices.push({ ...notice, waited: one.text });
    }
    for (let from = 0; from === 0 || from < notices.length; from += TOGETHER) {
      const done = await answered(() => notifications.settle(notices.slice(from, from + TOGETHER), []));
      lane.tell(done.events);
      unknown = done.unknown;
      if (done.waiting > 0) hasWaiting = true;
    }
    // While a send of before is in flight, its answer may still name the request, or its batch become unknown.
    const rest = waiting.filter(({ cameAt }, at) => places[at] === null && cameAt < sendingSince);
    if (unknown > 0 && rest.length > 0) await suspect(rest);
  };

  /** Has the service asked about requests that fit a batch of unknown outcome. */
  const suspect = async (waiting: readonly WaitingNotice[]): Promise<void> => {
    const batches = await openBatches();
    if (batches.length === 0) return;
    const pairs = fitting(
      batches,
      waiting.map(({ requestId, sender, letters, cameAt }) => ({
        requestId,
        sender,
        numbers: Object.keys(letters),
        cameAt,
      })),
    ).slice(0, SUSPECTED_AT_ONCE);
    if (pairs.length === 0) return;
    // A late or repeated notification of a request that is settled names an id that is not looked up any more.
    const settled = await answered(() => notifications.everAccepted(pairs.map(({ requestId }) => requestId)));
    for (const { batch, requestId } of pairs) {
      if (settled.has(requestId)) continue;
      const { number, campaign, first } = batch;
      const done = await answered(() => notifications.suspect({ number, campaign, first, requestId }));
      if (!done) continue;
      const reference = requestReference(campaign, number);
      events.emit({
        type: 'request.suspected',
        lane: lane.name,
        campaign,
        batch: reference,
        request: requestId,
      });
    }
  };

  /** The batch, if its campaign is still there. */
  const readable = async (
    located: Located,
    more: Pick<OpenBatch, 'number' | 'claimedAt' | 'suspect' | 'isSettled'>,
  ): Promise<OpenBatch | null> => {
    const { campaign, first } = located;
    const sender = await options.senderOf(lane.name, campaign);
    if (sender === null) return null;
    try {
      const recipients = await numbersOf(located);
      return { campaign, first, sender: plainSender(sender), recipients, ...more };
    } catch (error) {
      if (error instanceof DamagedError) return null;
      throw error;
    }
  };

  /** Those of unknown outcome, and those that are settled, and whose request has an id that nobody knows. */
  const openBatches = async (): Promise<OpenBatch[]> => {
    const open = await answered(() => lane.commands.unknown());
    if (open.length === 0) return [];
    const unnamed = await answered(() => notifications.unnamed());
    // What was sent again and is unknown again is the same batch: whatever is told of either request is told of it.
    const again = new Set(open.map(({ campaign, first }) => `${campaign} ${first}`));
    const others = unnamed.filter(({ campaign, first }) => !again.has(`${campaign} ${first}`));
    const found = await Promise.all([
      ...open.map(({ number, suspect, ...batch }) => {
        const claimedAt = batch.isRestored ? 0 : batch.claimedAt;
        return readable(batch, { number, suspect, claimedAt, isSettled: false });
      }),
      ...others.map((located) =>
        readable(located, { number: 0, suspect: null, claimedAt: 0, isSettled: true }),
      ),
    ]);
    return found.filter((batch) => batch !== null);
  };

  return {
    offer(reports) {
      if (isStopped || reports.length > room.left) return false;
      room.left -= reports.length;
      inHand += reports.length;
      for (const report of reports) held.push(report);
      if (held.length > 0) flushSoon();
      return true;
    },
    start() {
      looking = answered(() => notifications.settle([], []))
        .then(stands)
        .catch((error: unknown) => failed(0, error));
    },
    async stop() {
      isStopped = true;
      round?.();
      const done = Promise.allSettled([flushing, looking]).then(() => true);
      const isSettled = () => Promise.race([done, pause(alarm, STOP_MS).then(() => false)]);
      for (let times = 0, before = inHand + 1; times < STOP_TIMES && inHand < before; times += 1) {
        before = inHand;
        if (await isSettled()) break;
      }
      ended.abort();
      held = [];
      if (inHand === 0) return;
      const error = new Error('the process stops');
      events.emit({ type: 'notifications.failed', lane: lane.name, reports: inHand, error });
    },
  };
}

function nameless({ requestId, sender, letters }: Gathered): EarlyNotice {
  const byDigits = Object.fromEntries([...letters].map(([number, letter]) => [number.slice(1), letter]));
  return { requestId, sender, letters: byDigits };
}
