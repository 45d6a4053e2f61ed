import { z } from 'zod';
import { isLoopback } from '../host-header.js';
import { type Fate, finalStatus, statusAfter, UNLISTED_STATUS } from './deliveries.js';
import { sample } from './distribution.js';
import type { Recorder } from './journal.js';
import type { KeyState } from './key-ring.js';
import { compose, type Notice, Notifier } from './notifier.js';
import type { Settings } from './options.js';
import { badRequest, type Served } from './replies.js';
import { septets } from './sender.js';
import type { Timers } from './timers.js';
import type { Version } from './versions.js';
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
  readonly version: Version;
  readonly callbackData: string | undefined;
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
  handle(request: Incoming, key: KeyState, version: Version): Served {
    const existing = this.#callbacks.get(this.#holder(key));
    switch (request.method) {
      case 'POST':
        return this.#create(request, key, existing, version);
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
    const parts = partsOf(text);
    const { version } = request;
    for (const [index, fate] of request.fates.entries()) {
      const number = request.recipients[index];
      if (number === undefined) continue;
      const one = noticeOf(request, number);
      const final = statusAfter(fate, fate.delayMs, version);
      const isFinal = final !== 'DeliveredToNetwork' && final !== UNLISTED_STATUS;
      const late = this.#settings.notifications.shuffle && isFinal && this.#random() < 0.5;
      const firstAfterMs = late ? fate.delayMs + 50 : 0;
      if (version === 'v3' && parts > 1 && final === 'DeliveredToTerminal') {
        // One for each part; the last one is that of DeliveredToTerminal, in any order.
        for (let part = 1; part < parts; part += 1)
          this.#notify(callback, one, 'PartiallyDelivered', fate.delayMs + (late ? 50 : 0));
      } else if (version === 'v3' || parts === 1)
        this.#notify(callback, one, 'DeliveredToNetwork', firstAfterMs);
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
      const status = finalStatus(fate.final, request.version);
      if (number === undefined || status === null || dueAt <= endedAt || !this.#isTold(status)) continue;
      this.#notify(
        callback,
        noticeOf(request, number),
        status,
        Math.max(dueAt - now, RECEIVER_STARTS_WITHIN_MS),
      );
    }
  }

  #isTold(status: string): boolean {
    return status !== 'DeliveryImpossible' || this.#settings.notifications.notifyImpossible;
  }

  #create(request: Incoming, key: KeyState, existing: Callback | undefined, version: Version): Served {
    const callback = isJson(request.headers) ? readCallback(request.body) : undefined;
    if (callback === undefined)
      return badRequest('the body must contain callback with url and securityToken');
    if (version === 'v3' && !isHttps(callback.callback.url)) {
      const description = 'the URL must use https';
      return { answer: json(406, { code: 'NOT_HTTPS', description }), outcome: 'notAcceptable' };
    }
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

/** The parts that a long text is sent in. */
function partsOf(text: string): number {
  const units = septets(text);
  if (units === undefined) return text.length > 70 ? Math.ceil(text.length / 67) : 1;
  return units > 160 ? Math.ceil(units / 153) : 1;
}

function noticeOf(
  { resourceUrl, correlator, version, callbackData }: AcceptedRequest,
  number: number,
): Omit<Notice, 'status'> {
  return { resourceUrl, number, correlator, version, callbackData };
}

function readCallback(body: string): Callback | undefined {
  try {
    return callbackSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/** Tests receive notifications on their own machine, without a certificate. */
function isHttps(url: string): boolean {
  return url.startsWith('https:') || isLoopback(new URL(url).hostname);
}

function noSubscription(): Served {
  return { answer: failure(404, 'no subscription found'), outcome: 'notFound' };
}
