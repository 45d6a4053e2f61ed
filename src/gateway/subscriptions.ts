import { type Clock, systemClock } from '../clock.js';
import { baseOf } from './base-url.js';
import type { Exchange, Reply } from './exchange.js';
import { whatFailed } from './outcome.js';
import { reasonOf } from './reason.js';
import { retryAfterMs } from './retry-after.js';
import { readCallback } from './schemas.js';
import { createTransport } from './transport.js';

/** Where the service sends its notifications (interface page, Callback). */
export interface Callback {
  readonly url: string;
  readonly securityToken: string;
}

/** How each of the three operations may fail besides its own answers. `reason` is fit for people and logs. */
type NotDone =
  /** 401: the key is missing or invalid; a newer token may be. */
  | { kind: 'unauthorised'; reason: string }
  /** No other try will help: wrong key, wrong address. */
  | { kind: 'stopped'; reason: string }
  /** 429, which the page does not list here. */
  | { kind: 'throttled'; retryAfterMs: number | null }
  /** No answer, or none that could be read: whether it was done is not known. Asking again shows it. */
  | { kind: 'unanswered'; reason: string };

/** What `get` found. A token that the service does not show is null. */
export type SubscriptionFound =
  | { kind: 'found'; url: string; securityToken: string | null }
  /** 404. */
  | { kind: 'none' }
  | NotDone;

/** How `create` ended. */
export type SubscriptionCreated =
  | { kind: 'created' }
  /** 400: the service finds the request not well formed, which is most likely the callback's address. */
  | { kind: 'malformed'; reason: string }
  /** 406: it does not take it; only one subscription can exist, and other reasons are not shown. */
  | { kind: 'notAccepted'; reason: string }
  | NotDone;

/** How `remove` ended. */
export type SubscriptionRemoved = { kind: 'removed' } | { kind: 'none' } | NotDone;

/**
 * The one delivery subscription that a client of the service may have. The service does not count these calls against
 * the quota, so they take no permit. Nothing throws; each call puts at most one request on the wire.
 */
export interface SubscriptionClient {
  get(token: string): Promise<SubscriptionFound>;
  create(callback: Callback, token: string): Promise<SubscriptionCreated>;
  remove(token: string): Promise<SubscriptionRemoved>;
  /** Closes the idle connections. */
  close(): void;
}

/** Where the messaging service is, and how long it may take. */
export interface SubscriptionSettings {
  /** The part before `/outbound`. */
  readonly baseUrl: string;
  /** From the start of a request to the last byte of its reply, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock?: Clock;
}

/** A client for one service. Throws a TypeError if the base URL is none. */
export function createSubscriptionClient({
  baseUrl,
  timeoutMs,
  clock = systemClock,
}: SubscriptionSettings): SubscriptionClient {
  const url = `${baseOf(baseUrl)}/outbound/subscriptions`;
  const transport = createTransport({ timeoutMs, maxSockets: Number.POSITIVE_INFINITY });
  const ask = (method: 'GET' | 'POST' | 'DELETE', token: string, body?: string): Promise<Exchange> =>
    transport.exchange({
      method,
      url,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
    });

  return {
    async get(token) {
      const exchange = await ask('GET', token);
      if (exchange.kind === 'reply' && exchange.status === 404) return { kind: 'none' };
      const answered = answeredWell(exchange, { now: clock(), secrets: [token] });
      if (answered.kind !== 'well') return answered;
      const callback = answered.reply.body === null ? null : readCallback(answered.reply.body);
      if (callback === null) {
        return {
          kind: 'unanswered',
          reason: `${answers(answered.reply)}, but its subscription could not be read.`,
        };
      }
      return { kind: 'found', url: callback.url, securityToken: callback.securityToken ?? null };
    },

    async create({ url: callbackUrl, securityToken }, token) {
      const body = JSON.stringify({ callback: { url: callbackUrl, securityToken } });
      const exchange = await ask('POST', token, body);
      const secrets = [token, securityToken, callbackUrl];
      if (exchange.kind === 'reply') {
        const { status } = exchange;
        const said = exchange.body ?? '';
        if (status === 400 || status === 413 || status === 422) {
          const sentence = `${answers(exchange)}: it finds the subscription not well formed; check CALLBACK_URL.`;
          return { kind: 'malformed', reason: reasonOf(sentence, said, secrets) };
        }
        if (status === 406 || status === 409) {
          const sentence = `${answers(exchange)}: it does not accept the subscription; only one can exist.`;
          return { kind: 'notAccepted', reason: reasonOf(sentence, said, secrets) };
        }
      }
      const answered = answeredWell(exchange, { now: clock(), secrets });
      return answered.kind === 'well' ? { kind: 'created' } : answered;
    },

    async remove(token) {
      const exchange = await ask('DELETE', token);
      if (exchange.kind === 'reply' && exchange.status === 404) return { kind: 'none' };
      const answered = answeredWell(exchange, { now: clock(), secrets: [token] });
      return answered.kind === 'well' ? { kind: 'removed' } : answered;
    },

    close: () => transport.close(),
  };
}

/** Any success, or why there is none, whatever the operation (interface page, area A HTTP statuses). */
function answeredWell(
  exchange: Exchange,
  { now, secrets }: { now: number; secrets: readonly string[] },
): { kind: 'well'; reply: Reply } | NotDone {
  if (exchange.kind === 'failure') {
    return exchange.cause === 'unsendable'
      ? {
          kind: 'stopped',
          reason: `${whatFailed(exchange)} as HTTP: check the key for line breaks and foreign characters.`,
        }
      : { kind: 'unanswered', reason: `${whatFailed(exchange)}.` };
  }
  const { status, headers, body } = exchange;
  if (status >= 200 && status < 300) return { kind: 'well', reply: exchange };
  if (status === 429) return { kind: 'throttled', retryAfterMs: retryAfterMs(headers['retry-after'], now) };
  const because = (rest: string) => reasonOf(`${answers(exchange)}${rest}`, body ?? '', secrets);
  if (status === 401)
    return { kind: 'unauthorised', reason: because(': the API key or token is missing or invalid.') };
  if (status === 403) return { kind: 'stopped', reason: because(': it cannot be used with this API key.') };
  if (status >= 300 && status < 500 && status !== 408) {
    return { kind: 'stopped', reason: because(': check the base URL.') };
  }
  return { kind: 'unanswered', reason: because('.') };
}

function answers({ status }: Reply): string {
  return `The service answered ${status}`;
}
