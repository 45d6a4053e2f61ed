import { sample } from '../rules/distribution.js';
import { type Fate, isFinal, networkAfterMs, statusAfter, UNLISTED_STATUS } from '../state/deliveries.js';
import type { Accepted } from '../state/ledger.js';
import type { Simulation } from '../state/simulation.js';
import type { Timers } from '../state/timers.js';
import { correlatorOf, resourceUrl } from '../wire/replies.js';
import { drawForm, type Notice, Notifier, requestOf, type Target } from './notifier.js';

/** The wrong security token of forged notifications. */
const NO_TOKEN = 'this-is-not-the-security-token';
/** How long after the final notification a shuffled one arrives. */
const LATE_MS = 50;

/** A receiver of notifications. */
export interface Receiver extends Target {
  /** It wants only final statuses. */
  readonly finalDelivery: boolean;
}

/** When notifications are sent. */
interface Schedule {
  /** What has not happened yet can be cancelled here. */
  readonly timers: Timers;
  readonly now: number;
  /** Changes up to this time (ms) are left out. Default: none. */
  readonly since?: number;
  /** The least delay, ms. */
  readonly leastMs?: number;
}

/** A change of the status of one message. */
interface Change {
  readonly status: string;
  /** ms after the acceptance. */
  readonly afterMs: number;
  /** How much later the notification is sent, ms. */
  readonly lateMs: number;
  /** The parts that have arrived; undefined if all or none have. */
  readonly arrived?: number;
}

/** Sends the notifications of accepted requests, each once, or with the faults that the options choose. */
export class Notifications {
  readonly #simulation: Simulation;
  readonly #notifier = new Notifier();
  /** Notifications sent, without lost, repeated, and forged ones. They count even if the callback fails. */
  sent = 0;
  lost = 0;
  duplicated = 0;
  forged = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /**
   * Schedules the notifications of a request. Version 1 sends only the final one for a message in several parts. Failed
   * notifications are not repeated.
   */
  schedule(request: Accepted, receiver: Receiver, { timers, now, since, leastMs = 0 }: Schedule): void {
    const { resourceHost, correlatorInReply } = this.#simulation.settings;
    const { requestId, version, callbackData, at, parts } = request;
    const onlyFinal = request.finalDelivery ?? receiver.finalDelivery;
    const common = {
      resourceUrl: resourceUrl(resourceHost, request.sender, requestId, version),
      correlator: correlatorOf(correlatorInReply, request.correlator, requestId),
      version,
      callbackData,
      parts,
    };
    for (const [index, fate] of request.fates.entries()) {
      const number = request.recipients[index];
      if (number === undefined) continue;
      for (const change of this.#changesOf(request, fate)) {
        const { status, afterMs, lateMs, arrived } = change;
        if (since !== undefined && at + afterMs <= since) continue;
        if ((onlyFinal && !isFinal(status)) || !this.#isTold(status)) continue;
        const delayMs = Math.max(at + afterMs + lateMs - now, leastMs);
        this.#notify(receiver, { ...common, number, status, arrived }, delayMs, timers);
      }
    }
  }

  #changesOf(request: Accepted, fate: Fate): Change[] {
    const { version, parts } = request;
    const final = statusAfter(fate, fate.delayMs, request);
    const hasEnd = final !== 'DeliveredToNetwork' && final !== UNLISTED_STATUS;
    const isLate =
      this.#simulation.settings.notifications.shuffle && hasEnd && this.#simulation.random() < 0.5;
    const end = hasEnd ? [{ status: final, afterMs: fate.delayMs, lateMs: 0 }] : [];
    if (fate.final === 'impossibleAtOnce') return end;
    if (version === 'v3' && parts > 1 && final === 'DeliveredToTerminal') {
      // One for each part; the last one is that of DeliveredToTerminal, in any order.
      const partial = Array.from({ length: parts - 1 }, (_, index) => ({
        status: 'PartiallyDelivered',
        afterMs: fate.delayMs,
        lateMs: isLate ? LATE_MS : 0,
        arrived: index + 1,
      }));
      return [...partial, ...end];
    }
    if (version === 'v1' && parts > 1) return end;
    const afterMs = networkAfterMs(fate, request);
    const lateMs = isLate ? fate.delayMs + LATE_MS - afterMs : 0;
    return [{ status: 'DeliveredToNetwork', afterMs, lateMs }, ...end];
  }

  #isTold(status: string): boolean {
    const isImpossible = status === 'DeliveryImpossible' || status.startsWith('Invalid');
    return !isImpossible || this.#simulation.settings.notifications.notifyImpossible;
  }

  #notify(receiver: Receiver, notice: Notice, delayMs: number, timers: Timers): void {
    const { notifications } = this.#simulation.settings;
    const { loss, duplicates, forged, delay } = notifications;
    const isLikely = (share: number): boolean => share > 0 && this.#simulation.random() < share;
    if (isLikely(forged)) {
      const other = notice.status === 'DeliveryImpossible' ? 'DeliveredToTerminal' : 'DeliveryImpossible';
      const securityToken = NO_TOKEN.padEnd(receiver.securityToken?.length ?? 0, '.');
      const form = drawForm(notice, notifications, this.#simulation.random);
      const request = requestOf({ ...receiver, securityToken }, { ...notice, status: other }, form);
      timers.after(delayMs, () => {
        this.forged += 1;
        this.#notifier.send(request);
      });
    }
    if (isLikely(loss)) {
      timers.after(delayMs, () => {
        this.lost += 1;
      });
      return;
    }
    const request = requestOf(receiver, notice, drawForm(notice, notifications, this.#simulation.random));
    const sendAfter = (ms: number, count: () => void): void => {
      timers.after(delayMs, () =>
        // It has happened: only the end of the simulator cancels it.
        this.#simulation.timers.after(ms, () => {
          count();
          this.#notifier.send(request);
        }),
      );
    };
    sendAfter(sample(delay, this.#simulation.random), () => {
      this.sent += 1;
    });
    if (!isLikely(duplicates)) return;
    sendAfter(sample(delay, this.#simulation.random), () => {
      this.duplicated += 1;
    });
  }

  /** Closes the connections to callbacks. */
  close(): void {
    this.#notifier.close();
  }
}
