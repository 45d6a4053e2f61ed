import { type Alarm, pause } from '../clock.js';
import type { Events } from '../events/events.js';
import type { DeliveryReport } from '../gateway/notification.js';
import type { Lane } from '../lane/lane.js';
import type { OrdinalNumbers } from '../recipients/slices.js';
import { batchNumbers } from './batch-numbers.js';
import type { MatchStore } from './match-store.js';
import { notificationMatching } from './notification-matching.js';
import type { NotificationStore, Notified } from './notification-store.js';
import type { SettledLately } from './recently-settled.js';
import { reportSettler, TOGETHER } from './settle-reports.js';

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
/** How often those that wait are looked at, at most. */
const ROUND_MS = 1_000;
/** Looking at them may take this part of the time. */
const ROUND_SHARE = 0.05;
/** As long as one waits it is looked at so often at the least. */
const LOOKS_WHILE_ONE_WAITS = 8;
/** A flood of those that there is no room for is told of once in so long. */
const TOLD_EVERY_MS = 60_000;

/** Reports that the process still has room for, over all lanes. */
export interface Room {
  left: number;
}

/** What {@link createInbox} goes by. */
export interface InboxOptions {
  readonly store: NotificationStore;
  readonly matches: MatchStore;
  readonly events: Events;
  readonly numbers: OrdinalNumbers;
  /** The sender of a campaign, as it goes on the wire; null for one that is gone. */
  senderOf(lane: string, campaign: string): Promise<string | null>;
  readonly alarm: Alarm;
  readonly monotonic: () => number;
  readonly room: Room;
  readonly lately: SettledLately;
  /** How often those that wait are looked at, at most, in ms; tests shorten it. */
  readonly roundMs?: number | undefined;
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

/** Opens the inbox of one lane. */
export function createInbox(lane: Lane, options: InboxOptions): Inbox {
  const { store, matches, events, alarm, monotonic, room, roundMs = ROUND_MS } = options;
  const earlyMs = lane.rules.early ?? 0;
  const ended = new AbortController();
  const { signal } = ended;
  const answered = <Answer>(run: () => Promise<Answer>) => lane.answered(run, signal);
  const numbersOf = batchNumbers(lane, options.numbers, signal);
  const settler = reportSettler({ lane, store, numbersOf, lately: options.lately, signal });
  const matchUnknown = notificationMatching({
    lane,
    matches,
    events,
    numbersOf,
    senderOf: options.senderOf,
    signal,
  });
  let held: DeliveryReport[] = [];
  /** Held, or being settled. */
  let inHand = 0;
  let flushing: Promise<void> | undefined;
  let round: (() => void) | undefined;
  let looking: Promise<void> = Promise.resolve();
  let isStopped = false;
  let hasWaiting = false;

  const settle = async (reports: readonly DeliveryReport[]): Promise<void> => {
    const { requests, tooMany, stands } = await settler.reports(reports);
    if (tooMany > 0) refused(tooMany);
    if (stands === null) return;
    lookIfAny(stands);
    const { waiting } = stands;
    events.emit({
      type: 'notifications.settled',
      lane: lane.name,
      reports: reports.length,
      requests,
      waiting,
    });
  };

  let untold = { notifications: 0, since: Number.NEGATIVE_INFINITY };
  const refused = (more: number): void => {
    const notifications = untold.notifications + more;
    const isTime = monotonic() - untold.since >= TOLD_EVERY_MS;
    untold = isTime ? { notifications: 0, since: monotonic() } : { ...untold, notifications };
    if (isTime)
      events.emit({ type: 'notifications.refused', lane: lane.name, reason: 'overload', notifications });
  };

  const lookIfAny = ({ waiting }: Notified): void => {
    if (waiting === 0) return;
    hasWaiting = true;
    lookLater(roundMs);
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
          if (!hasWaiting) return;
          const restMs = Math.max(roundMs, (monotonic() - began) / ROUND_SHARE);
          // A look that took long must not outlast what waits: it would be gone before the next.
          lookLater(Math.min(restMs, Math.max(roundMs, earlyMs / LOOKS_WHILE_ONE_WAITS)));
        });
    });
  };
  const look = async (): Promise<void> => {
    const waiting = await answered(() => store.waiting(earlyMs));
    // Only now: a send that has begun since then is none of theirs, and one of before that has ended has left its mark.
    const sendingSince = await answered(() => matches.oldestSend());
    const { stands, unknown } = await settler.waiting(waiting);
    if (stands.waiting > 0) hasWaiting = true;
    // While a send of before is in flight, its answer may still name the request, or its batch become unknown.
    const rest = unknown.filter(({ cameAt }) => cameAt < sendingSince);
    if (stands.unknown > 0 && rest.length > 0) await matchUnknown(rest);
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
      looking = answered(() => store.settle([], []))
        .then(lookIfAny)
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
