import { drawFault, isSendFault, type SendFault } from '../rules/faults.js';
import { type MagicName, magicOf } from '../rules/magic-recipients.js';
import type { Settings } from '../rules/options.js';
import { partsOf } from '../rules/parts.js';
import { decodeSender, senderFault, withoutTel } from '../rules/sender.js';
import { CORRELATOR_LIFETIME_MS, type Version } from '../rules/versions.js';
import { drawFate, type Fate, statusOnAcceptance } from '../state/deliveries.js';
import type { KeyState } from '../state/key-ring.js';
import type { Accepted, Answered, Ledger } from '../state/ledger.js';
import type { Simulation } from '../state/simulation.js';
import { effectOf } from '../wire/fault-effects.js';
import { badRequest, correlatorOf, created, type Served } from '../wire/replies.js';
import { readSendBody, type SendBody } from '../wire/send-request.js';
import { type Answer, failure, type Incoming, isJson } from '../wire/wire.js';
import type { Inbound } from './inbound.js';
import type { Subscriptions } from './subscriptions.js';

/** A valid send request. */
interface Send {
  readonly body: SendBody;
  readonly sender: string;
  readonly magic: readonly (MagicName | undefined)[];
  readonly key: KeyState;
  readonly now: number;
  readonly version: Version;
}

/** Accepts send requests, or applies the faults that magic recipients or random draws select. */
export class Sends {
  readonly #ledger: Ledger;
  readonly #subscriptions: Subscriptions;
  readonly #inbound: Inbound;
  readonly #simulation: Simulation;
  readonly #usedMagicNumbers = new Set<number>();

  constructor(simulation: Simulation, ledger: Ledger, subscriptions: Subscriptions, inbound: Inbound) {
    this.#simulation = simulation;
    this.#ledger = ledger;
    this.#subscriptions = subscriptions;
    this.#inbound = inbound;
  }

  /** Lets magic recipients that have been used take effect again. */
  resetMagicRecipients(): void {
    this.#usedMagicNumbers.clear();
  }

  /** Serves a send request; `segment` is the sender as spelled in the path. */
  handle(request: Incoming, segment: string, key: KeyState, now: number, version: Version): Served {
    if (!isJson(request.headers)) return badRequest('Content-Type must be application/json');
    const body = readSendBody(request.body, this.#simulation.settings.maxRecipients, version);
    if (typeof body === 'string') return badRequest(body);
    const sender = decodeSender(segment);
    if (sender === undefined) return badRequest('senderAddress in the path is not URL-encoded');
    const fault = senderFault(sender);
    if (fault !== undefined) return badRequest(fault);
    if (withoutTel(body.senderAddress) !== withoutTel(sender))
      return badRequest('senderAddress of path and body differ');
    const magic = this.#simulation.settings.magicRecipients === 'off' ? [] : body.recipients.map(magicOf);
    if (magic.includes('badRequest')) return badRequest('address contains an invalid number');
    const send = { body, sender, magic, key, now, version };
    const { settings, random } = this.#simulation;
    return (
      this.#repeated(send) ?? this.#finish(this.#magicFault(send) ?? drawFault(settings.faults, random), send)
    );
  }

  /** The first reply again, or an error, if the service deduplicates and the correlator is known. */
  #repeated({ body, key, now, version }: Send): Served | undefined {
    const isRemembered = version === 'v3' || this.#simulation.settings.deduplicates;
    if (!isRemembered || body.correlator === undefined) return undefined;
    const first = this.#ledger.findCorrelator(key.name, body.correlator);
    if (first === undefined) return undefined;
    if (version === 'v3' && now - first.at >= CORRELATOR_LIFETIME_MS) return undefined;
    const { knownCorrelator } = this.#simulation.settings;
    if (knownCorrelator !== 'first')
      return { answer: KNOWN_CORRELATOR[knownCorrelator], outcome: 'repeated' };
    // Also if the first request was asynchronous, so that its reply came before the response of the hub.
    if (isImpossible(version, first.fates)) return { ...IMPOSSIBLE, outcome: 'repeated' };
    return { answer: this.#reply(first), outcome: 'repeated' };
  }

  /** The fault of the first magic recipient that takes effect. */
  #magicFault({ body, magic }: Send): SendFault | undefined {
    for (const [index, name] of magic.entries()) {
      const number = body.recipients[index];
      if (number === undefined || name === undefined || !isSendFault(name)) continue;
      if (this.#simulation.settings.magicRecipients === 'first' && this.#usedMagicNumbers.has(number))
        continue;
      this.#usedMagicNumbers.add(number);
      return name;
    }
    return undefined;
  }

  #finish(fault: SendFault | undefined, send: Send): Served {
    if (fault === undefined || fault === 'withoutRequestId')
      return { answer: this.#accept(send, fault ?? 'answered'), outcome: 'accepted' };
    const { faultRetryAfterSeconds: retryAfterSeconds } = this.#simulation.settings;
    const effect = effectOf(fault, { now: send.now, retryAfterSeconds, status: 201 });
    if (!effect.isProcessed) return effect;
    this.#accept(send, ANSWERED[fault] ?? 'answered');
    return { answer: effect.answer, outcome: 'accepted' };
  }

  /** Records the request in the ledger and returns the 201 reply. */
  #accept({ body, sender, magic, key, now, version }: Send, answered: Answered): Answer {
    const { deliveryTime, impossible } = this.#simulation.settings;
    const fates = body.recipients.map((_, index) =>
      drawFate(magic[index], deliveryTime, impossible, this.#simulation.random),
    );
    const { addresses: _addresses, ...content } = body;
    const isBad = !body.asynchronous && isImpossible(version, fates);
    const accepted = this.#ledger.accept({
      ...content,
      at: now,
      key: key.name,
      sender,
      parts: partsOf(body.text),
      answered: isBad && answered === 'answered' ? ('badRequest' as const) : answered,
      pollable: !magic.includes('pollNotFound'),
      fates,
      version,
    });
    this.#simulation.record({ kind: 'accepted', request: accepted });
    for (const [index, number] of body.recipients.entries())
      this.#inbound.answer(magic[index], number, sender, key, fates[index]?.delayMs ?? 0);
    this.#subscriptions.announce(accepted);
    return isBad ? IMPOSSIBLE.answer : this.#reply(accepted);
  }

  /** The 201 of an accepted request, which contains nothing of a later one with its correlator. */
  #reply(request: Accepted): Answer {
    const { correlatorInReply, resourceHost, requestIdIn } = this.#simulation.settings;
    const { recipients, fates, requestId, answered } = request;
    const reply = {
      ...request,
      addresses: recipients.map((number) => `tel:+${number}`),
      statuses: fates.map((fate) => statusOnAcceptance(fate, request)),
      correlator: correlatorOf(correlatorInReply, request.correlator, requestId),
    };
    return created(reply, resourceHost, answered === 'withoutRequestId' ? 'none' : requestIdIn);
  }
}

/** How the ledger calls the answer of a request that was accepted with a fault. */
const ANSWERED: Partial<Record<SendFault, Answered>> = {
  unreadable: 'unreadable',
  error500After: 'error500',
  resetAfter: 'reset',
  acceptAndHang: 'never',
};

/** The reply of version 3 if the first response of the hub was that a message cannot be delivered. The other messages are sent. */
const IMPOSSIBLE = badRequest('the first response of the SMS hub was: delivery impossible');

/** See the option `knownCorrelator`. */
const KNOWN_CORRELATOR: Readonly<Record<Exclude<Settings['knownCorrelator'], 'first'>, Answer>> = {
  SVC0005: {
    kind: 'reply',
    status: 400,
    headers: ['Content-Type', 'application/json'],
    body: JSON.stringify({
      requestError: {
        serviceException: {
          messageId: 'SVC0005',
          text: 'Correlator %1 is a duplicate',
          variables: ['clientCorrelator'],
        },
      },
    }),
  },
  badRequest: failure(400, 'clientCorrelator is not valid'),
  conflict: failure(409, 'there is a request with this clientCorrelator'),
};

function isImpossible(version: Version, fates: readonly Fate[]): boolean {
  return version === 'v3' && fates.some(({ final }) => final === 'impossibleAtOnce');
}
