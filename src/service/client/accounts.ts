import type { AccountCredentials } from '../../base/account.js';
import type { LoginOutcome } from '../login-outcome.js';
import type { Exchange, Failure, Reply } from './exchange.js';
import type { TransportSettings } from './got-transport.js';
import { readTokenPair } from './read-response.js';
import { failureReason, reasonOf } from './reason.js';
import { createTransport } from './transport.js';

/**
 * The login and token area of the interface. Each call puts at most one request on the wire: a failed login counts towards the
 * account's lockout, and a refresh token may be valid for one use only. Nothing throws.
 */
export interface AccountClient {
  login(credentials: AccountCredentials, signal?: AbortSignal): Promise<LoginOutcome>;
  refresh(refreshToken: string, signal?: AbortSignal): Promise<LoginOutcome>;
  /** Closes the idle connections. */
  close(): void;
}

/** Required by both operations (interface page, area B). */
const HEADERS = { 'x-requested-with': 'XMLHttpRequest' };

/** Receives each response as it arrived, before it becomes an outcome. It contains tokens. */
export type AccountObserver = (operation: 'login' | 'refresh', exchange: Exchange) => void;

/** A client for one service. `baseUrl` is the part before `/api/login`. Throws a TypeError if it is not valid. */
export function createAccountClient({
  observe = () => {},
  ...settings
}: TransportSettings & { readonly observe?: AccountObserver | undefined }): AccountClient {
  const transport = createTransport(settings);

  return {
    async login({ username, password, targetAccountId }, signal) {
      const exchange = await transport.exchange({
        method: 'POST',
        path: '/api/login',
        headers: HEADERS,
        body: JSON.stringify({ username, password, targetAccountId }),
        ...(signal && { signal }),
      });
      observe('login', exchange);
      return loginOutcome(exchange, [password, username]);
    },
    async refresh(refreshToken, signal) {
      const exchange = await transport.exchange({
        method: 'GET',
        path: '/api/RefreshToken',
        headers: { ...HEADERS, 'x-authorization': `Bearer ${refreshToken}` },
        ...(signal && { signal }),
      });
      observe('refresh', exchange);
      return loginOutcome(exchange, [refreshToken]);
    },
    close: () => transport.close(),
  };
}

/** Headers whose numbers and words belong to HTTP and not to the service; `keep-alive` even mentions a timeout. */
const HTTP_HEADERS =
  /^(content-|access-control-|x-ratelimit|ratelimit|keep-alive$|connection$|age$|date$|etag$|expires$|last-modified$|retry-after$|set-cookie$|via$|alt-svc$|cache-control$|strict-transport|server-timing$)|request-?id|trace|correlation/;

/** A result code that is not part of a longer number. */
const CODE = /(?<!\d)(?<!\d\.)(?:10126|10117|11044)(?!\d)/g;

/** Runs that are an id or a token if they contain more than this many digits; a code in their digits means nothing. */
const LONG_RUN = /[\w.-]{24,}/g;
const MAX_DIGITS = 8;

const TIMEOUT = /time[sd]?[\s_-]*out/i;

/** Responses that ask for a later retry rather than refuse: too slow, too early, too many. */
const RETRY_LATER = new Set([408, 425, 429]);

/**
 * The outcome of a login or refresh, for every status and every failure. The interface page shows neither which status a failed
 * login has (Authentication, rule 7) nor where the result code appears. The code is therefore searched for in the headers, the
 * status line, and the body of every response without a token pair. No reason repeats any of the `secrets`.
 */
export function loginOutcome(exchange: Exchange, secrets: readonly string[]): LoginOutcome {
  if (exchange.kind === 'failure') return loginFailure(exchange);
  const { status, body } = exchange;
  const success = status >= 200 && status < 300;
  const pair = success && body !== null ? readTokenPair(body) : null;
  if (pair !== null) return { kind: 'pair', ...pair };
  const coded = codedOutcome(exchange);
  if (coded !== null) return coded;
  if (success) return withoutToken(status, `The service answered ${status} without a readable token pair.`);
  const reason = reasonOf(`The service answered ${status}.`, body, secrets);
  return withoutToken(status, reason);
}

/** The outcome of a response that has no token, and whose code says no more. */
export function withoutToken(status: number, reason: string): LoginOutcome {
  const isRefusal = status >= 300 && status < 500 && !RETRY_LATER.has(status);
  return { kind: isRefusal ? 'refused' : 'noAnswer', reason };
}

/** The outcome of a login, a refresh, or a request for a client's token without a response. */
export function loginFailure(failure: Failure): LoginOutcome {
  return { kind: failure.left ? 'noAnswer' : 'notSent', reason: failureReason(failure) };
}

/** By result code (interface page, area B result codes); if there are several, the one that lasts longest. */
function codedOutcome(reply: Reply): LoginOutcome | null {
  const text = serviceTextOf(reply);
  const codes = new Set(text.replace(LONG_RUN, withoutId).match(CODE));
  if (codes.has('11044')) return { kind: 'blocked' };
  if (codes.has('10117')) return { kind: 'wrongTarget' };
  if (codes.has('10126')) return { kind: TIMEOUT.test(text) ? 'loginTimeout' : 'badCredential' };
  return null;
}

function withoutId(run: string): string {
  return run.replace(/\D/g, '').length > MAX_DIGITS ? ' ' : run;
}

/** Everything in a response that the service itself may have written. */
function serviceTextOf({ headers, statusText, body }: Reply): string {
  const serviceHeaders = Object.entries(headers)
    .filter(([name]) => !HTTP_HEADERS.test(name))
    .map(([name, value]) => `${name}: ${value}`);
  return [statusText, ...serviceHeaders, body ?? ''].join('\n');
}
