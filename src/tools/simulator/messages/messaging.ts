import { BASE_PATHS, type Version } from '../rules/versions.js';
import type { ArrivalKind, ArrivalLog, Subject } from '../state/arrivals.js';
import type { KeyRing, KeyState } from '../state/key-ring.js';
import type { Simulation } from '../state/simulation.js';
import { forbidden, retryAfter, type Served, tooManyRequests } from '../wire/replies.js';
import { readSendBody } from '../wire/send-request.js';
import { type Answer, failure, type Incoming } from '../wire/wire.js';
import type { Inbound } from './inbound.js';
import type { Polls } from './polls.js';
import type { Sends } from './sends.js';
import type { Subscriptions } from './subscriptions.js';

/** The handlers and state of the messaging interface (area A). */
export interface MessagingParts {
  readonly keys: KeyRing;
  readonly sends: Sends;
  readonly polls: Polls;
  readonly subscriptions: Subscriptions;
  readonly inbound: Inbound;
  readonly arrivals: ArrivalLog;
}

type Route =
  | { readonly kind: 'send'; readonly sender: string }
  | { readonly kind: 'poll'; readonly sender: string; readonly requestId: string }
  | { readonly kind: 'subscription'; readonly isInbound: boolean }
  | { readonly kind: 'other' };

/**
 * The entry point of the messaging interface (area A): it authenticates, applies the quota, routes, and logs every arrival.
 * Sends and polls count against the quota before they are parsed, so requests that end in a 400 or a reset count too.
 */
export class Messaging {
  readonly #simulation: Simulation;
  readonly #parts: MessagingParts;

  constructor(simulation: Simulation, parts: MessagingParts) {
    this.#simulation = simulation;
    this.#parts = parts;
  }

  /** Serves a request to this version of the interface that arrives at `now` (ms). */
  handle(request: Incoming, now: number, version: Version): Answer {
    const route = routeOf(request, version);
    const key = this.#keyOf(request, now, version);
    const { answer, outcome } = this.#serve(request, route, key, now, version);
    const subject = this.#simulation.settings.wholeArrivals ? subjectOf(route, request, version) : undefined;
    const arrival = { at: now, key: key?.name ?? '', kind: route.kind, outcome };
    this.#parts.arrivals.record({ ...arrival, ...subject });
    this.#simulation.record({ kind: 'arrived', arrival });
    return answer;
  }

  /** Version 3 accepts the tokens of clients and nothing else, and version 1 accepts everything but these. */
  #keyOf({ headers }: Incoming, now: number, version: Version): KeyState | undefined {
    const { keys } = this.#parts;
    return version === 'v1' ? keys.resolve(headers, now) : keys.ofClient(headers, now);
  }

  #serve(request: Incoming, route: Route, key: KeyState | undefined, now: number, version: Version): Served {
    if (key === undefined) {
      const isCreation = route.kind === 'subscription' && request.method === 'POST';
      const status = isCreation ? this.#simulation.settings.subscriptionWithoutKey : 401;
      const answer = failure(status, 'the API key was not mentioned or is invalid');
      return { answer, outcome: 'unauthorised' };
    }
    switch (route.kind) {
      case 'send':
        return this.#denied(key, now) ?? this.#parts.sends.handle(request, route.sender, key, now, version);
      case 'poll':
        return (
          this.#denied(key, now) ?? this.#parts.polls.handle(route.sender, route.requestId, key, now, version)
        );
      case 'subscription':
        if (route.isInbound) return this.#parts.inbound.handle(request, key);
        return this.#parts.subscriptions.handle(request, key, now, version);
      case 'other':
        return { answer: failure(404, 'no such resource'), outcome: 'notFound' };
      default:
        return route satisfies never;
    }
  }

  #denied(key: KeyState, now: number): Served | undefined {
    const waitMs = key.quota?.arrive(now) ?? 0;
    if (waitMs === 0)
      return key.settings.forbidden ? { answer: forbidden(), outcome: 'forbidden' } : undefined;
    const headers = retryAfter(this.#simulation.settings.quotaRetryAfter, now, Math.ceil(waitMs / 1000));
    return { answer: tooManyRequests(headers), outcome: 'quotaExceeded' };
  }
}

/** Parsed separately, because the handlers never parse a request that exceeds the quota. */
function subjectOf(route: Route, { body }: Incoming, version: Version): Subject | undefined {
  if (route.kind === 'poll') return { requestId: route.requestId };
  const send = route.kind === 'send' ? readSendBody(body, null, version) : '';
  if (typeof send === 'string') return undefined;
  return { text: send.text, recipients: send.recipients.map((number) => `+${number}`) };
}

/** Written by hand for speed, and because the handlers need the sender exactly as spelled in the path. */
function routeOf({ method, path }: Incoming, version: Version): Route & { kind: ArrivalKind } {
  const [outbound, sender, requests, requestId, deliveryInfos, ...rest] = path
    .slice(BASE_PATHS[version].length + 1)
    .split('/');
  const isInbound = outbound === 'inbound' && version === 'v3';
  if (isInbound && sender === 'subscriptions' && requests === undefined)
    return { kind: 'subscription', isInbound };
  if (outbound !== 'outbound' || sender === undefined || rest.length > 0) return { kind: 'other' };
  if (requests === undefined)
    return sender === 'subscriptions' ? { kind: 'subscription', isInbound } : { kind: 'other' };
  if (requests !== 'requests') return { kind: 'other' };
  if (requestId === undefined) return method === 'POST' ? { kind: 'send', sender } : { kind: 'other' };
  if (deliveryInfos === 'deliveryInfos' && method === 'GET') return { kind: 'poll', sender, requestId };
  return { kind: 'other' };
}
