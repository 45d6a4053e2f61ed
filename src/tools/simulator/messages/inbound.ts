import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { MagicName } from '../rules/magic-recipients.js';
import type { KeyState } from '../state/key-ring.js';
import type { Simulation } from '../state/simulation.js';
import { badRequest, noSubscription, type Served } from '../wire/replies.js';
import { empty, failure, type Incoming, isJson, json } from '../wire/wire.js';
import { Notifier } from './notifier.js';
import { isHttps } from './subscriptions.js';

const callbackSchema = z.strictObject({
  callback: z.strictObject({
    url: z.url({ protocol: /^https?$/ }),
    securityToken: z.string(),
    concat: z.boolean().optional(),
  }),
});

/** A message that a person sends. `texts`: its parts; several are one message, of which each part is sent on its own. */
export const inboundSchema = z.strictObject({
  /** The digits of the number that sends it. */
  from: z.string().regex(/^\+?\d{5,15}$/),
  /** The number, or sender, that it is sent to. */
  to: z.string().min(1),
  text: z.union([z.string(), z.array(z.string()).min(1).max(255)]),
  /** The service's id; of parts, the beginning of theirs. Default: a random one. */
  messageId: z.string().min(1).optional(),
});
/** See {@link inboundSchema}. */
export type InboundText = z.output<typeof inboundSchema>;

/** What magic recipients answer. */
const ANSWERS: Partial<Record<MagicName, string | string[]>> = {
  repliesStop: 'STOP',
  repliesStart: 'Start',
  repliesHelp: 'HELP',
  repliesInParts: ['Please call me back, because I would like to know more about ', 'your offer.'],
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** When version 3 tries again: every 2 minutes for 10 minutes, every hour for 2 hours, every 6 hours for 3 days. */
const RETRY_AFTER_MS: readonly number[] = [
  ...Array.from({ length: 5 }, () => 2 * MINUTE_MS),
  ...Array.from({ length: 2 }, () => HOUR_MS),
  ...Array.from({ length: 11 }, () => 6 * HOUR_MS),
];

/** The messages that people send, which only version 3 has: the subscription of each key, and the requests to its address. */
export class Inbound {
  readonly #callbacks = new Map<string, z.output<typeof callbackSchema>>();
  readonly #simulation: Simulation;
  readonly #notifier = new Notifier();
  /** By message id: the parts of a long message carry the same number, one byte, by which they are joined. */
  readonly #references = new LRUCache<string, number>({ max: 256 });
  #reference = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** Creates, returns, or deletes the subscription of a key. */
  handle({ method, headers, body }: Incoming, { name }: KeyState): Served {
    const existing = this.#callbacks.get(name);
    switch (method) {
      case 'POST': {
        const callback = isJson(headers) ? readCallback(body) : undefined;
        if (callback === undefined)
          return badRequest('the body must contain callback with url and securityToken');
        if (!isHttps(callback.callback.url)) {
          const description = 'the URL must use https';
          return { answer: json(406, { code: 'NOT_HTTPS', description }), outcome: 'notAcceptable' };
        }
        if (existing !== undefined)
          return { answer: failure(406, 'only one subscription can exist'), outcome: 'notAcceptable' };
        this.#callbacks.set(name, callback);
        return { answer: json(201, callback), outcome: 'done' };
      }
      case 'GET':
        return existing === undefined ? noSubscription() : { answer: json(200, existing), outcome: 'done' };
      case 'DELETE':
        if (!this.#callbacks.delete(name)) return noSubscription();
        return { answer: empty(204), outcome: 'done' };
      default:
        return { answer: failure(405, 'use POST, GET, or DELETE'), outcome: 'badRequest' };
    }
  }

  /** Lets a magic recipient answer a message that it has received after so many ms. */
  answer(magic: MagicName | undefined, from: number, to: string, key: KeyState, afterMs: number): void {
    const text = magic === undefined ? undefined : ANSWERS[magic];
    if (text === undefined) return;
    this.#simulation.timers.after(afterMs, () => this.send({ from: String(from), to, text }, key.name));
  }

  /** Sends a message to the subscription of a key, by default to all of them. Returns to how many. */
  send(message: InboundText, key?: string): number {
    const receivers = [...this.#callbacks].filter(([name]) => key === undefined || name === key);
    for (const [, { callback }] of receivers) {
      for (const part of this.#partsOf(message, callback.concat === true)) {
        const request = {
          url: new URL(callback.url),
          headers: {
            'content-type': 'application/json; charset=UTF-8',
            authorization: `Bearer ${callback.securityToken}`,
          },
          body: JSON.stringify({ InboundSmsMessage: part }),
        };
        this.#deliver(request, 0);
        if (this.#simulation.random() < this.#simulation.settings.inbound.repeats)
          this.#notifier.send(request);
      }
    }
    return receivers.length;
  }

  /** One message, or one for each part, which the receiver is to join. */
  #partsOf({ from, to, text, messageId = randomUUID() }: InboundText, isJoined: boolean): object[] {
    const common = {
      dateTime: new Date().toISOString().replace('Z', ''),
      destinationAddress: to,
      senderAddress: from.replace('+', ''),
    };
    const parts = [text].flat();
    if (parts.length === 1 || isJoined) return [{ ...common, messageId, message: parts.join('') }];
    const reference = this.#referenceOf(messageId);
    return parts.map((message, at) => ({
      ...common,
      messageId: `${messageId}-${at + 1}`,
      message,
      udhMessageId: reference,
      concatPart: at + 1,
      concatTotal: parts.length,
    }));
  }

  /** The sender's phone chooses it, so a message that is sent again keeps it. */
  #referenceOf(messageId: string): number {
    const known = this.#references.get(messageId);
    if (known !== undefined) return known;
    this.#reference = (this.#reference + 1) % 256;
    this.#references.set(messageId, this.#reference);
    return this.#reference;
  }

  #deliver(request: Parameters<Notifier['send']>[0], attempt: number): void {
    this.#notifier.send(request, (isDelivered) => {
      const { retryAfterMs } = this.#simulation.settings.inbound;
      const waitMs = (retryAfterMs ?? RETRY_AFTER_MS)[attempt];
      if (!isDelivered && waitMs !== undefined)
        this.#simulation.timers.after(waitMs, () => this.#deliver(request, attempt + 1));
    });
  }

  close(): void {
    this.#notifier.close();
  }
}

function readCallback(body: string): z.output<typeof callbackSchema> | undefined {
  try {
    return callbackSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}
