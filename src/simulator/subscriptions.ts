import { z } from 'zod';
import { type Fate, finalStatus, statusAfter } from './deliveries.js';
import { sample } from './distribution.js';
import type { Recorder } from './journal.js';
import type { KeyState } from './key-ring.js';
import { compose, type Notice, Notifier } from './notifier.js';
import type { Settings } from './options.js';
import { badRequest, type Served } from './replies.js';
import { septets } from './sender.js';
import type { Timers } from './timers.js';
import { type Answer, empty, failure, type Incoming, isJson, json } from './wire.js';

const callbackSchema = z.strictObject({
  callback: z.strictObject({ url: z.url({ protocol: /^https?$/ }), securityToken: z.string() }),
});

type Callback = z.infer<typeof callbackSchema>;

/** The data of an accepted request that its notifications need. */
export interface AcceptedRequest {
  readonly resourceUrl: string;
  readonly recipients: readonly number[];
  readonly fates: readonly Fate[];
  readonly correlator: string | undefined;
}

/** A process that restarts together with the simulator takes this long at most. */
const RECEIVER_STARTS_WITHIN_MS = 5_000;

/** The wrong security token of forged notifications. */
const NO_TOKEN = 'this-is-not-the-security-token';

type SubscriptionSettings = Pick<Settings, 'notifications' | 'notAcceptableBody' | 'subscriptionPer'>;

/** Holds the subscription of all keys. No key has this index. */
const CLIENT = -1;

/** The callback of each key and the notifications that are sent to it. */
export class Subscriptions {
  readonly #callbacks = new Map<number, Callback>();
  readonly #timers: Timers;
  readonly #random: () => number;
  readonly #record: Recorder;
  readonly #notifier = new Notifier();
  #settings: SubscriptionSettings;
  /** Notifications sent, without lost, repeated, and forged ones. They count even if the callback fails. */
  sent = 0;
  lost = 0;
  duplicated = 0;
  forged = 0;

  constructor(settings: SubscriptionSettings, timers: Timers, random: () => number, record: Recorder) {
    this.#record = record;
    this.#settings = settings;
    this.#timers = timers;
    this.#random = random;
  }

  configure(settings: SubscriptionSettings): void {
    this.#settings = settings;
  }

  #holder(key: KeyState): number {
    return this.#settings.subscriptionPer === 'client' ? CLIENT : key.index;
  }

  /**
   * Creates, returns, or deletes the key's subscription. The interface page does not say when the service answers 406; the
   * simulator does so when a subscription exists.
   */
  handle(request: Incoming, key: KeyState): Served {
    const existing = this.#callbacks.get(this.#holder(key));
    switch (request.method) {
      case 'POST':
        return this.#create(request, key, existing);
      case 'GET':
        if (existing === undefined) return noSubscription();
        return { answer: json(200, existing), outcome: 'done' };
      case 'DELETE':
        if (!this.#callbacks.delete(this.#holder(key))) return noSubscription();
        this.#record({ kind: 'unsubscribed', key: key.name });
        return { answer: empty(204), outcome: 'done' };
      default:
        return { answer: failure(405, 'use POST, GET, or DELETE'), outcome: 'badRequest' };
    }
  }

  /**
   * Schedules the notifications of an accepted request: DeliveredToNetwork at once and the final status when it is reached.
   * Messages with several segments get only the final one. Failed notifications are not repeated.
   */
  announce(key: KeyState, text: string, request: AcceptedRequest): void {
    const callback = this.#callbacks.get(this.#holder(key));
    if (callback === undefined) return;
    const units = septets(text);
    const hasSegments = units === undefined ? text.length > 70 : units > 160;
    for (const [index, fate] of request.fates.entries()) {
      const number = request.recipients[index];
      if (number === undefined) continue;
      const one = { resourceUrl: request.resourceUrl, number, correlator: request.correlator };
      const final = statusAfter(fate, fate.delayMs);
      const isFinal = final === 'DeliveredToTerminal' || final === 'DeliveryImpossible';
      const late = this.#settings.notifications.shuffle && isFinal && this.#random() < 0.5;
      if (!hasSegments) this.#notify(callback, one, 'DeliveredToNetwork', late ? fate.delayMs + 50 : 0);
      if (isFinal && this.#isTold(final)) this.#notify(callback, one, final, fate.delayMs);
    }
  }

  /** Restores a subscription; undefined: it was deleted. */
  restore(key: KeyState, callback: Callback['callback'] | undefined): void {
    if (callback === undefined) this.#callbacks.delete(this.#holder(key));
    else this.#callbacks.set(this.#holder(key), { callback });
  }

  /**
   * Schedules the final notifications that a simulator had not sent when it ended at `endedAt` (ms). Some may arrive a second time
   * if it was killed. Overdue ones wait a little, because their receivers restart, too.
   */
  resume(
    key: KeyState,
    { at, ...request }: AcceptedRequest & { at: number },
    endedAt: number,
    now: number,
  ): void {
    const callback = this.#callbacks.get(this.#holder(key));
    if (callback === undefined) return;
    for (const [index, fate] of request.fates.entries()) {
      const number = request.recipients[index];
      const dueAt = at + fate.delayMs;
      const status = finalStatus(fate.final);
      if (number === undefined || status === null || dueAt <= endedAt || !this.#isTold(status)) continue;
      const one = { resourceUrl: request.resourceUrl, number, correlator: request.correlator };
      this.#notify(callback, one, status, Math.max(dueAt - now, RECEIVER_STARTS_WITHIN_MS));
    }
  }

  #isTold(status: string): boolean {
    return status !== 'DeliveryImpossible' || this.#settings.notifications.notifyImpossible;
  }

  #create(request: Incoming, key: KeyState, existing: Callback | undefined): Served {
    const callback = isJson(request.headers) ? readCallback(request.body) : undefined;
    if (callback === undefined)
      return badRequest('the body must contain callback with url and securityToken');
    if (existing !== undefined) {
      return { answer: this.#notAcceptable(existing), outcome: 'notAcceptable' };
    }
    this.#callbacks.set(this.#holder(key), callback);
    this.#record({ kind: 'subscribed', key: key.name, ...callback.callback });
    return { answer: json(201, callback), outcome: 'done' };
  }

  #notAcceptable(existing: Callback): Answer {
    const description = 'only one subscription can exist';
    switch (this.#settings.notAcceptableBody) {
      case 'error':
        return failure(406, description);
      case 'code':
        return json(406, { code: 'SUBSCRIPTION_EXISTS', description });
      case 'callback':
        return json(406, existing);
      case 'none':
        return empty(406);
      default:
        return this.#settings.notAcceptableBody satisfies never;
    }
  }

  #notify({ callback }: Callback, one: Omit<Notice, 'status'>, status: string, delayMs: number): void {
    const { notifications } = this.#settings;
    const { loss, duplicates, forged, delay } = notifications;
    const isLikely = (share: number): boolean => share > 0 && this.#random() < share;
    if (isLikely(forged)) {
      this.forged += 1;
      const other = status === 'DeliveryImpossible' ? 'DeliveredToTerminal' : 'DeliveryImpossible';
      const securityToken = NO_TOKEN.padEnd(callback.securityToken.length, '.');
      const notice = compose(
        { ...callback, securityToken },
        { ...one, status: other },
        notifications,
        this.#random,
      );
      this.#timers.after(delayMs, () => this.#notifier.send(notice));
    }
    if (isLikely(loss)) {
      this.lost += 1;
      return;
    }
    const notice = compose(callback, { ...one, status }, notifications, this.#random);
    this.#timers.after(delayMs + sample(delay, this.#random), () => {
      this.sent += 1;
      this.#notifier.send(notice);
    });
    if (!isLikely(duplicates)) return;
    this.#timers.after(delayMs + sample(delay, this.#random), () => {
      this.duplicated += 1;
      this.#notifier.send(notice);
    });
  }

  /** Closes the connections to callbacks. */
  close(): void {
    this.#notifier.close();
  }
}

function readCallback(body: string): Callback | undefined {
  try {
    return callbackSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

function noSubscription(): Served {
  return { answer: failure(404, 'no subscription found'), outcome: 'notFound' };
}
