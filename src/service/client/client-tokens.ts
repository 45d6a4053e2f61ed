import type { LoginOutcome } from '../login-outcome.js';
import { type AccountObserver, loginFailure, withoutToken } from './accounts.js';
import type { Exchange } from './exchange.js';
import type { TransportSettings } from './got-transport.js';
import { readClientToken, readTokenError } from './read-response.js';
import { quoteOf, reasonOf } from './reason.js';
import { createTransport } from './transport.js';

/** An OAuth 2 client. `scope`: the scopes of its tokens, separated by spaces. */
interface ClientCredentials {
  readonly id: string;
  readonly secret: string;
  readonly scope: string;
}

/**
 * The token endpoint of an OAuth 2 server (RFC 6749, section 4.4). A call puts at most one request on the wire. Nothing throws.
 */
export interface ClientTokens {
  get(client: ClientCredentials, signal?: AbortSignal): Promise<LoginOutcome>;
  /** Closes the idle connections. */
  close(): void;
}

/** A client for the token endpoint at `url`. Throws a TypeError if it is not valid. */
export function createClientTokens({
  url,
  observe = () => {},
  ...settings
}: Omit<TransportSettings, 'baseUrl'> & {
  readonly url: string;
  readonly observe?: AccountObserver | undefined;
}): ClientTokens {
  const { origin, pathname } = new URL(url);
  const transport = createTransport({ ...settings, baseUrl: origin });
  return {
    async get({ id, secret, scope }, signal) {
      const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret, scope };
      const exchange = await transport.exchange({
        method: 'POST',
        path: pathname,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
        ...(signal && { signal }),
      });
      observe('login', exchange);
      return clientTokenOutcome(exchange, [secret, encodeURIComponent(secret)]);
    },
    close: () => transport.close(),
  };
}

/** The outcome for every status and every failure. Only a token of type bearer can be used. No reason repeats any of the `secrets`. */
function clientTokenOutcome(exchange: Exchange, secrets: readonly string[]): LoginOutcome {
  if (exchange.kind === 'failure') return loginFailure(exchange);
  const { status, body } = exchange;
  const isSuccess = status >= 200 && status < 300;
  const token = isSuccess && body !== null ? readClientToken(body) : null;
  if (token !== null) {
    const { access_token: accessToken, expires_in: seconds } = token;
    return {
      kind: 'pair',
      accessToken,
      // A client asks with its secret again (RFC 6749, section 4.4.3).
      refreshToken: '',
      ...(seconds === undefined ? {} : { lifetimeMs: seconds * 1_000 }),
    };
  }
  if (isSuccess) return withoutToken(status, `The service answered ${status} without a readable token.`);
  const error = readTokenError(body ?? '');
  const reason =
    error === null
      ? reasonOf(`The service answered ${status}.`, body, secrets)
      : `The service answered ${status}: ${quoteOf([error.error, error.error_description].filter(Boolean).join(': '), secrets)}`;
  return withoutToken(status, reason);
}
