import { type Alarm, pause } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import type { LaneId } from '../../base/redis/keys.js';
import type { DeliveryReport } from '../../service/client/notification.js';
import type { OrdinalNumbers } from '../recipients/slices.js';
import { batchNumbers, type RecentlySettled } from './batch-lookup.js';
import type { MatchStore } from './match-store.js';
import { notificationMatching, type Sender } from './matching.js';
import type { NotificationStore } from './notification-store.js';
import type { NotifiedLane } from './notified-lane.js';
import { REPORTS_PER_CALL, reportSettler } from './settle-reports.js';

/*
 *   offer ──► memory ──► after 5 ms: look up the requests ──► settle-notifications.lua ──► settled, or waiting by request id
 *                                                                                             │
 *   every second while reports wait:  is the request known by now? settle ◄───────────────────┤
 *                                     does it fit one unknown outcome? match it ◄─────────────┘
 *
 * The service gets its response before the reports are in Redis: it never repeats a notification, and polls make up for any
 * that are lost.
 */

/** How long a burst is collected. */
const COLLECT_MS = 5;
/** The shortest time between two looks at the reports that wait. */
const LOOK_MS = 1_000;
/** Looks may take this share of the time. */
const LOOK_SHARE = 0.05;
/** Looks within the time that a report waits, at least. */
const MIN_LOOKS = 8;
/** A flood of refused notifications emits one event in this time. */
const REFUSAL_EVENT_MS = 60_000;
/** `stop` waits this long for Redis, and again as long as reports get settled meanwhile… */
const STOP_MS = 2_000;
/** …up to this many times. */
const STOP_WAITS = 5;

/** What {@link createInbox} works with. */
interface InboxOptions {
  readonly store: NotificationStore;
  readonly matches: MatchStore;
  readonly events: Events;
  readonly numbers: OrdinalNumbers;
  /** The sender of a campaign, as it goes on the wire; null if the campaign has been removed. */
  senderOf(lane: LaneId, campaign: string): Promise<Sender | null>;
  readonly alarm: Alarm;
  readonly monotonic: () => number;
  /** Reports that the process still has room for; shared by all lanes. */
  readonly capacity: { left: number };
  readonly recentlySettled: RecentlySettled;
  /** The shortest time between two looks at the reports that wait, in ms; tests shorten it. */
  readonly lookMs?: number | undefined;
}

/** Collects the reports of one lane and settles them in bursts. */
export interface Inbox {
  /** Takes the reports; false if there is no room for them. Returns at once. */
  offer(reports: readonly DeliveryReport[]): boolean;
  /** Starts to look at the reports that other processes have left waiting. */
  start(): void;
  /**
   * Settles the reports that it has, and stops looking at those that wait. It gives up after 10 s, or once Redis has settled
   * nothing for 2 s, and then emits how many reports were lost.
   */
  stop(): Promise<void>;
}

/** Opens the inbox of one lane. */
export function createInbox(lane: NotifiedLane, options: InboxOptions): Inbox {
  const { store, matches, events, alarm, monotonic, capacity, recentlySettled } = options;
  const { lookMs = LOOK_MS, senderOf } = options;
  const earlyMs = lane.rules.early ?? 0;
  const ended = new AbortController();
  const { signal } = ended;
  const retry = <Answer>(run: () => Promise<Answer>) => lane.retry(run, signal);
  const numbersOf = batchNumbers(lane, options.numbers, signal);
  const settler = reportSettler({ lane, store, numbersOf, recentlySettled, signal });
  const numbersOfLane = (id: LaneId) => batchNumbers({ id, retry: lane.retry }, options.numbers, signal);
  const matching = { lane, matches, events, numbersOf, numbersOfLane, senderOf, signal };
  const matchUnknown = notificationMatching(matching);
  const emitRefusal = refusalEvents(events, monotonic);
  let held: DeliveryReport[] = [];
  /** Reports that are held or being settled. */
  let pending = 0;
  let flushing: Promise<void> | undefined;
  let looking: Promise<void> = Promise.resolve();
  let cancelLook: (() => void) | undefined;
  let isStopped = false;
  let hasWaiting = false;

  const emitFailure = (reports: number, error: unknown): void => {
    if (!signal.aborted) events.emit({ type: 'notifications.failed', lane: lane.name, reports, error });
  };

  const lookIfAny = (waiting: number): void => {
    if (waiting === 0) return;
    hasWaiting = true;
    scheduleLook(lookMs);
  };

  const settle = async (reports: readonly DeliveryReport[]): Promise<void> => {
    const { requests, discarded, last } = await settler.burst(reports);
    if (discarded > 0) emitRefusal(lane.name, 'overload', discarded);
    if (last === null) return;
    const { waiting } = last;
    lookIfAny(waiting);
    const counts = { reports: reports.length, requests, waiting };
    events.emit({ type: 'notifications.settled', lane: lane.name, ...counts });
  };

  const flush = async (): Promise<void> => {
    while (held.length > 0) {
      const burst = held.slice(0, REPORTS_PER_CALL);
      held = held.slice(REPORTS_PER_CALL);
      await settle(burst).catch((error: unknown) => emitFailure(burst.length, error));
      capacity.left += burst.length;
      pending -= burst.length;
    }
  };

  const flushSoon = (): void => {
    flushing ??= new Promise((resolve) => {
      alarm(COLLECT_MS, () => {
        void flush().then(() => {
          flushing = undefined;
          resolve();
        });
      });
    });
  };

  const scheduleLook = (inMs: number): void => {
    if (isStopped || cancelLook !== undefined) return;
    cancelLook = alarm(inMs, () => {
      const began = monotonic();
      // Set again by reports that begin to wait from now on, because this look may miss them.
      hasWaiting = false;
      looking = look()
        .catch((error: unknown) => {
          hasWaiting = true;
          emitFailure(0, error);
        })
        .then(() => {
          cancelLook = undefined;
          if (!hasWaiting) return;
          const restMs = Math.max(lookMs, (monotonic() - began) / LOOK_SHARE);
          // After a long look the next one must still come before the reports expire.
          scheduleLook(Math.min(restMs, Math.max(lookMs, earlyMs / MIN_LOOKS)));
        });
    });
  };

  const look = async (): Promise<void> => {
    const waiting = await retry(() => store.waiting());
    // Read after the reports: a send that was in flight when they came has then either ended, and left its mark, or counts here.
    const oldestSend = await retry(() => matches.oldestSend());
    const { last, unknown } = await settler.waiting(waiting);
    if (last.waiting > 0) hasWaiting = true;
    // While an earlier send is in flight, its response may still name the request, or its outcome become unknown as well.
    const ready = unknown.filter(({ receivedAt }) => receivedAt < oldestSend);
    if (last.unknownOutcomes > 0 && ready.length > 0) await matchUnknown(ready);
  };

  return {
    offer(reports) {
      if (isStopped || reports.length > capacity.left) return false;
      capacity.left -= reports.length;
      pending += reports.length;
      for (const report of reports) held.push(report);
      if (held.length > 0) flushSoon();
      return true;
    },
    start() {
      looking = retry(() => store.settle([], []))
        .then(({ waiting }) => lookIfAny(waiting))
        .catch((error: unknown) => emitFailure(0, error));
    },
    async stop() {
      isStopped = true;
      cancelLook?.();
      const done = Promise.allSettled([flushing, looking]).then(() => true);
      const isDone = () => Promise.race([done, pause(alarm, STOP_MS).then(() => false)]);
      for (let waits = 0, before = pending + 1; waits < STOP_WAITS && pending < before; waits += 1) {
        before = pending;
        if (await isDone()) break;
      }
      ended.abort();
      held = [];
      if (pending === 0) return;
      const error = new Error('the process stops');
      events.emit({ type: 'notifications.failed', lane: lane.name, reports: pending, error });
    },
  };
}

/** Why notifications were refused: no security token, not readable, or too many of them wait. */
export type RefusalReason = 'token' | 'unreadable' | 'overload';

/** Emits `notifications.refused` at most once a minute per lane and reason, with the number refused since the last event. */
export function refusalEvents(events: Events, monotonic: () => number) {
  const last = new Map<string, { emittedAt: number; count: number }>();
  return (lane: string, reason: RefusalReason, count: number): void => {
    const name = `${reason} ${lane}`;
    const { emittedAt, count: before } = last.get(name) ?? { emittedAt: Number.NEGATIVE_INFINITY, count: 0 };
    const notifications = before + count;
    if (monotonic() - emittedAt < REFUSAL_EVENT_MS) {
      last.set(name, { emittedAt, count: notifications });
      return;
    }
    last.set(name, { emittedAt: monotonic(), count: 0 });
    events.emit({ type: 'notifications.refused', lane, reason, notifications });
  };
}
