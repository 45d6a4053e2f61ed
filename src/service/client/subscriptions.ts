import { type Clock, systemClock } from '../../base/clock.js';
import { PROFILES, type ServiceProfile } from '../../base/profiles/index.js';
import { type Bearer, bearerHeaders, bearerSecrets } from './bearer.js';
import type { Exchange, Reply } from './exchange.js';
import type { TransportSettings } from './got-transport.js';
import { readCallback, readErrorCode, retryAfterMs } from './read-response.js';
import { failureReason, messageIn, reasonOf } from './reason.js';
import { createTransport } from './transport.js';

/** Where the service sends its notifications (interface page, Callback). */
interface Callback {
  readonly url: string;
  readonly securityToken: string;
}

/** How each of the three operations may fail apart from its own outcomes. `reason` is for people and logs. */
type SubscriptionFailure =
  /** 401: the key is missing or invalid; a newer token may be valid. */
  | { kind: 'unauthorised'; reason: string }
  /** Retrying cannot help: wrong key or wrong address. */
  | { kind: 'stopped'; reason: string }
  /** 429, which the page does not list here. */
  | { kind: 'throttled'; retryAfterMs: number | null; message?: string }
  /** No response, or an unreadable one: the service may have done it. A `get` shows whether it did. */
  | { kind: 'unanswered'; reason: string };

/** The result of `get`. A token that the service does not show is null. */
export type SubscriptionFound =
  | { kind: 'found'; url: string; securityToken: string | null }
  /** 404. */
  | { kind: 'none' }
  | SubscriptionFailure;

/** How `create` ended. */
export type SubscriptionCreated =
  | { kind: 'created' }
  /** 400, 413, 422: the request is not well formed, most likely because of the callback's address. */
  | { kind: 'malformed'; reason: string }
  /** 406, 409: not accepted. Only one subscription can exist; the page shows no other reasons. */
  | { kind: 'notAccepted'; reason: string }
  | SubscriptionFailure;

/** How `remove` ended. */
export type SubscriptionRemoved = { kind: 'removed' } | { kind: 'none' } | SubscriptionFailure;

/**
 * The one subscription of its kind that a client of the service may have. The service does not count these calls against the quota,
 * so they need no permit. Nothing throws; each call puts at most one request on the wire.
 */
export interface SubscriptionClient {
  get(bearer: Bearer): Promise<SubscriptionFound>;
  create(callback: Callback, bearer: Bearer): Promise<SubscriptionCreated>;
  remove(bearer: Bearer): Promise<SubscriptionRemoved>;
  /** Closes the idle connections. */
  close(): void;
}

/**
 * A client for one service. `baseUrl` is the part before `/outbound`. Throws a TypeError if it is not valid. Default profile: v1. `of`: what
 * it subscribes to, by default delivery reports.
 */
export function createSubscriptionClient({
  clock = systemClock,
  profile = PROFILES.v1,
  of = 'callback',
  ...settings
}: TransportSettings & {
  readonly clock?: Clock;
  readonly profile?: ServiceProfile;
  readonly of?: 'callback' | 'inbound';
}): SubscriptionClient {
  const transport = createTransport(settings);
  const call = (method: 'GET' | 'POST' | 'DELETE', bearer: Bearer, body?: string): Promise<Exchange> =>
    transport.exchange({
      method,
      path: of === 'inbound' ? '/inbound/subscriptions' : '/outbound/subscriptions',
      headers: bearerHeaders(bearer),
      ...(body === undefined ? {} : { body }),
    });

  return {
    async get(bearer) {
      const exchange = await call('GET', bearer);
      if (exchange.kind === 'reply' && exchange.status === 404) return { kind: 'none' };
      const result = resultOf(exchange, { now: clock(), secrets: bearerSecrets(bearer) });
      if (result.kind !== 'success') return result;
      const { body, status } = result.reply;
      const callback = body === null ? null : readCallback(body);
      if (callback === null) {
        const reason = `The service answered ${status}, but its subscription could not be read.`;
        return { kind: 'unanswered', reason };
      }
      return { kind: 'found', url: callback.url, securityToken: callback.securityToken ?? null };
    },

    async create({ url, securityToken }, bearer) {
      // Parts that arrive at once are stored at once: nothing waits at the service until it is whole.
      const callback = { url, securityToken, ...(of === 'inbound' ? { concat: false } : {}) };
      const exchange = await call('POST', bearer, JSON.stringify({ callback }));
      const secrets = [...bearerSecrets(bearer), securityToken, url];
      if (exchange.kind === 'reply') {
        const { status } = exchange;
        const because = (what: string): string =>
          reasonOf(`The service answered ${status}: ${what}`, exchange.body, secrets);
        if (status === 400 || status === 413 || status === 422) {
          // The interface page lists no 401 for this operation, so an invalid key may get a 400.
          const what = 'the subscription is malformed; check CALLBACK_URL, and the API key or token.';
          return { kind: 'malformed', reason: because(what) };
        }
        if (status === 406 || status === 409) {
          // The body may contain the subscription that exists, with its secrets.
          const isCallback = readCallback(exchange.body ?? '') !== null;
          const code = readErrorCode(exchange.body ?? '') ?? '';
          const cause = Object.hasOwn(profile.notAcceptable, code) ? profile.notAcceptable[code] : undefined;
          const unknown = isCallback ? 'one exists already.' : 'the cause is not documented.';
          const what = `it does not accept the subscription; ${cause ?? unknown}`;
          const reason = isCallback ? `The service answered ${status}: ${what}` : because(what);
          return { kind: 'notAccepted', reason };
        }
      }
      const result = resultOf(exchange, { now: clock(), secrets });
      return result.kind === 'success' ? { kind: 'created' } : result;
    },

    async remove(bearer) {
      const exchange = await call('DELETE', bearer);
      if (exchange.kind === 'reply' && exchange.status === 404) return { kind: 'none' };
      const result = resultOf(exchange, { now: clock(), secrets: bearerSecrets(bearer) });
      return result.kind === 'success' ? { kind: 'removed' } : result;
    },

    close: () => transport.close(),
  };
}

/** A 2xx response, or why there is none; the same for every operation (interface page, area A HTTP statuses). */
function resultOf(
  exchange: Exchange,
  { now, secrets }: { now: number; secrets: readonly string[] },
): { kind: 'success'; reply: Reply } | SubscriptionFailure {
  if (exchange.kind === 'failure') {
    const kind = exchange.cause === 'unsendable' ? 'stopped' : 'unanswered';
    return { kind, reason: failureReason(exchange) };
  }
  const { status, headers, body } = exchange;
  if (status >= 200 && status < 300) return { kind: 'success', reply: exchange };
  if (status === 429) {
    const message = messageIn(body, secrets);
    const wait = retryAfterMs(headers['retry-after'], now);
    return { kind: 'throttled', retryAfterMs: wait, ...(message === '' ? {} : { message }) };
  }
  const because = (rest: string) => reasonOf(`The service answered ${status}${rest}`, body, secrets);
  if (status === 401)
    return { kind: 'unauthorised', reason: because(': the API key or token is missing or invalid.') };
  if (status === 403) return { kind: 'stopped', reason: because(': it cannot be used with this API key.') };
  if (status >= 300 && status < 500 && status !== 408) {
    return { kind: 'stopped', reason: because(': check the base URL.') };
  }
  return { kind: 'unanswered', reason: because('.') };
}
