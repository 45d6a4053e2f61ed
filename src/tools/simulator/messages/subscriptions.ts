import { z } from 'zod';
import { isLoopback } from '../../../base/host-header.js';
import type { Version } from '../rules/versions.js';
import type { KeyState } from '../state/key-ring.js';
import type { Accepted, Ledger } from '../state/ledger.js';
import type { Simulation } from '../state/simulation.js';
import { Timers } from '../state/timers.js';
import { badRequest, noSubscription, type Served } from '../wire/replies.js';
import { type Answer, empty, failure, type Incoming, isJson, json } from '../wire/wire.js';
import type { Notifications } from './notifications.js';

const fields = { url: z.url({ protocol: /^https?$/ }), securityToken: z.string() };
const callbackSchemas = {
  v1: z.strictObject({ callback: z.strictObject(fields) }),
  v3: z.strictObject({ callback: z.strictObject({ ...fields, finalDelivery: z.boolean().optional() }) }),
};

interface Callback {
  readonly callback: {
    readonly url: string;
    readonly securityToken: string;
    /** Only in version 3: it gets only final statuses. */
    readonly finalDelivery?: boolean | undefined;
  };
}

/** A process that restarts together with the simulator takes this long at most. */
const RECEIVER_STARTS_WITHIN_MS = 5_000;

/** Holds the subscription of all keys. No key has this name. */
const CLIENT = '';

/** The callback of each key. A notification goes to the one that exists when the status changes. */
export class Subscriptions {
  readonly #callbacks = new Map<string, Callback>();
  /** What the simulator will send to each callback, unless the callback is deleted before. */
  readonly #upcoming = new Map<string, Timers>();
  readonly #ledger: Pick<Ledger, 'changingAfter'>;
  readonly #notifications: Notifications;
  readonly #simulation: Simulation;

  constructor(simulation: Simulation, ledger: Pick<Ledger, 'changingAfter'>, notifications: Notifications) {
    this.#simulation = simulation;
    this.#ledger = ledger;
    this.#notifications = notifications;
  }

  /** Whose subscription a key has. */
  #holder(key: string): string {
    return this.#simulation.settings.subscriptionPer === 'client' ? CLIENT : key;
  }

  /**
   * Creates, returns, or deletes the key's subscription. The interface page does not say when the service answers 406; the
   * simulator does so when a subscription exists.
   */
  handle(request: Incoming, key: KeyState, now: number, version: Version): Served {
    const existing = this.#callbacks.get(this.#holder(key.name));
    switch (request.method) {
      case 'POST':
        return this.#create(request, key, existing, now, version);
      case 'GET':
        if (existing === undefined) return noSubscription();
        return { answer: json(200, existing), outcome: 'done' };
      case 'DELETE':
        if (existing === undefined) return noSubscription();
        this.#remove(this.#holder(key.name));
        this.#simulation.record({ kind: 'unsubscribed', key: key.name });
        return { answer: empty(204), outcome: 'done' };
      default:
        return { answer: failure(405, 'use POST, GET, or DELETE'), outcome: 'badRequest' };
    }
  }

  /** Schedules the notifications of a request that has just been accepted. A `notifyURL` takes precedence. */
  announce(request: Accepted): void {
    this.#schedule(request, { now: request.at });
  }

  /** Restores a subscription; undefined: it was deleted. */
  restore(key: KeyState, callback: Callback['callback'] | undefined): void {
    if (callback === undefined) this.#callbacks.delete(this.#holder(key.name));
    else this.#callbacks.set(this.#holder(key.name), { callback });
  }

  /**
   * Schedules the notifications that a simulator had not sent when it ended at `endedAt` (ms). Some may arrive a second time
   * if it was killed. Overdue ones wait a little, because their receivers restart, too.
   */
  resume(endedAt: number, now: number): void {
    for (const request of this.#ledger.changingAfter(endedAt))
      this.#schedule(request, { now, since: endedAt, leastMs: RECEIVER_STARTS_WITHIN_MS });
  }

  /** Cancels the notifications that have not been sent. */
  close(): void {
    for (const timers of this.#upcoming.values()) timers.cancelAll();
  }

  #schedule(request: Accepted, when: { now: number; since?: number; leastMs?: number }): void {
    const { notifyUrl: url } = request;
    if (url !== undefined) {
      // Only a subscription has a security token.
      const receiver = { url, securityToken: undefined, finalDelivery: false };
      this.#notifications.schedule(request, receiver, { ...when, timers: this.#simulation.timers });
      return;
    }
    const holder = this.#holder(request.key);
    const existing = this.#callbacks.get(holder);
    if (existing === undefined) return;
    const { callback } = existing;
    const receiver = { ...callback, finalDelivery: callback.finalDelivery ?? false };
    this.#notifications.schedule(request, receiver, { ...when, timers: this.#timersOf(holder) });
  }

  #timersOf(holder: string): Timers {
    const timers = this.#upcoming.get(holder) ?? new Timers();
    this.#upcoming.set(holder, timers);
    return timers;
  }

  #remove(holder: string): void {
    this.#callbacks.delete(holder);
    this.#upcoming.get(holder)?.cancelAll();
  }

  #create(
    request: Incoming,
    key: KeyState,
    existing: Callback | undefined,
    now: number,
    version: Version,
  ): Served {
    const callback = isJson(request.headers) ? readCallback(request.body, version) : undefined;
    if (callback === undefined)
      return badRequest('the body must contain callback with url and securityToken');
    if (version === 'v3' && !isHttps(callback.callback.url)) {
      const description = 'the URL must use https';
      return { answer: json(406, { code: 'NOT_HTTPS', description }), outcome: 'notAcceptable' };
    }
    if (existing !== undefined) {
      return { answer: this.#notAcceptable(existing), outcome: 'notAcceptable' };
    }
    const holder = this.#holder(key.name);
    this.#callbacks.set(holder, callback);
    this.#simulation.record({ kind: 'subscribed', key: key.name, ...callback.callback });
    for (const accepted of this.#ledger.changingAfter(now)) {
      const isMine = this.#holder(accepted.key) === holder && accepted.notifyUrl === undefined;
      if (isMine) this.#schedule(accepted, { now, since: now });
    }
    return { answer: json(201, callback), outcome: 'done' };
  }

  #notAcceptable(existing: Callback): Answer {
    const description = 'only one subscription can exist';
    switch (this.#simulation.settings.notAcceptableBody) {
      case 'error':
        return failure(406, description);
      case 'code':
        return json(406, { code: 'SUBSCRIPTION_EXISTS', description });
      case 'callback':
        return json(406, existing);
      case 'none':
        return empty(406);
      default:
        return this.#simulation.settings.notAcceptableBody satisfies never;
    }
  }
}

function readCallback(body: string, version: Version): Callback | undefined {
  try {
    return callbackSchemas[version].safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/** Tests receive notifications on their own machine, without a certificate. */
export function isHttps(url: string): boolean {
  return url.startsWith('https:') || isLoopback(new URL(url).hostname);
}
