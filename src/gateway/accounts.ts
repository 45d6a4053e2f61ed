import type { TransportSettings } from './got-transport.js';
import { type LoginOutcome, loginOutcome } from './login-outcome.js';
import { createTransport } from './transport.js';

/** The body of a login (interface page, Login request). `targetAccountId`: the child account that a reseller acts for. */
export interface AccountCredentials {
  readonly username: string;
  readonly password: string;
  readonly targetAccountId?: string | undefined;
}

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

/** A client for one service. `baseUrl` is the part before `/api/login`. Throws a TypeError if it is not valid. */
export function createAccountClient(settings: TransportSettings): AccountClient {
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
      return loginOutcome(exchange, [password, username]);
    },
    async refresh(refreshToken, signal) {
      const exchange = await transport.exchange({
        method: 'GET',
        path: '/api/RefreshToken',
        headers: { ...HEADERS, 'x-authorization': `Bearer ${refreshToken}` },
        ...(signal && { signal }),
      });
      return loginOutcome(exchange, [refreshToken]);
    },
    close: () => transport.close(),
  };
}
