import { z } from 'zod';
import { type Fate, statusAfter } from './deliveries.js';
import type { KeyState } from './key-ring.js';
import type { Settings } from './options.js';
import { badRequest, deliveryInfoList, type Served } from './replies.js';
import { isGsm } from './sender.js';
import type { Timers } from './timers.js';
import { failure, type Incoming, isJson, json } from './wire.js';

const callbackSchema = z.strictObject({
  callback: z.strictObject({ url: z.url({ protocol: /^https?$/ }), securityToken: z.string() }),
});

type Callback = z.infer<typeof callbackSchema>;

/** An accepted request, as far as its notifications go. */
export interface Announced {
  readonly resourceUrl: string;
  readonly recipients: readonly number[];
  readonly fates: readonly Fate[];
}

/** How long a callback may take before it is given up. */
const CALLBACK_TIMEOUT_MS = 10_000;

/** The one callback each key may have, and what is sent to it. */
export class Subscriptions {
  readonly #callbacks = new Map<number, Callback>();
  readonly #timers: Timers;
  readonly #random: () => number;
  #settings: Settings['notifications'];
  /** Notifications sent, whether or not anybody took them. */
  sent = 0;

  constructor(settings: Settings['notifications'], timers: Timers, random: () => number) {
    this.#settings = settings;
    this.#timers = timers;
    this.#random = random;
  }

  configure(settings: Settings['notifications']): void {
    this.#settings = settings;
  }

  /** Creates, shows or deletes the key's subscription. Why the service answers 406 is not shown; here: there is one. */
  handle(request: Incoming, key: KeyState): Served {
    const existing = this.#callbacks.get(key.index);
    switch (request.method) {
      case 'POST':
        return this.#create(request, key, existing);
      case 'GET':
        if (existing === undefined) return noSubscription();
        return { answer: json(200, existing), outcome: 'done' };
      case 'DELETE':
        if (!this.#callbacks.delete(key.index)) return noSubscription();
        return { answer: { kind: 'reply', status: 204, headers: [], body: '' }, outcome: 'done' };
      default:
        return { answer: failure(405, 'use POST, GET or DELETE'), outcome: 'badRequest' };
    }
  }

  /**
   * Sends the notifications of an accepted request: each recipient's DeliveredToNetwork at once and final status when it
   * is reached; of a text in several segments only the last. Each once, and never again if it fails.
   */
  announce(key: KeyState, text: string, request: Announced): void {
    const callback = this.#callbacks.get(key.index);
    if (callback === undefined) return;
    const inParts = text.length > (isGsm(text) ? 160 : 70);
    for (const [index, fate] of request.fates.entries()) {
      const one = { ...request, recipients: request.recipients.slice(index, index + 1), fates: [fate] };
      const final = statusAfter(fate, fate.delayMs);
      const isFinal = final === 'DeliveredToTerminal' || final === 'DeliveryImpossible';
      const late = this.#settings.shuffle && isFinal && this.#random() < 0.5;
      if (!inParts) this.#notify(callback, one, 'DeliveredToNetwork', late ? fate.delayMs + 50 : 0);
      if (isFinal) this.#notify(callback, one, final, fate.delayMs);
    }
  }

  #create(request: Incoming, key: KeyState, existing: Callback | undefined): Served {
    const callback = isJson(request.headers) ? readCallback(request.body) : undefined;
    if (callback === undefined) return badRequest('the body must be callback with url and securityToken');
    if (existing !== undefined) {
      return { answer: failure(406, 'only one subscription can exist'), outcome: 'notAcceptable' };
    }
    this.#callbacks.set(key.index, callback);
    return { answer: json(201, callback), outcome: 'done' };
  }

  #notify({ callback }: Callback, request: Announced, status: string, delayMs: number): void {
    const { securityTokenIn } = this.#settings;
    const url = new URL(callback.url);
    if (securityTokenIn === 'query') url.searchParams.set('securityToken', callback.securityToken);
    const headers = {
      'Content-Type': 'application/json',
      ...(securityTokenIn === 'header' ? { securityToken: callback.securityToken } : {}),
    };
    const infos = deliveryInfoList(request, () => status);
    const body = securityTokenIn === 'body' ? { ...infos, securityToken: callback.securityToken } : infos;
    this.#timers.after(delayMs, () => {
      this.sent += 1;
      const signal = AbortSignal.timeout(CALLBACK_TIMEOUT_MS);
      // By the page's first rule of events a notification that fails is not sent again, so nobody waits for it.
      fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal, redirect: 'manual' }).then(
        (reply) => reply.body?.cancel(),
        () => {},
      );
    });
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
