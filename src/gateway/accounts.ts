import { baseOf } from './base-url.js';
import { type LoginOutcome, loginOutcome } from './login-outcome.js';
import { createTransport } from './transport.js';

/** A login (interface page, Login request). `targetAccountId` is for resellers: the child account to act for. */
export interface AccountCredentials {
  readonly username: string;
  readonly password: string;
  readonly targetAccountId?: string;
}

/** Where the account service is, and how long it may take. */
export interface AccountSettings {
  /** The part before `/api/login`. */
  readonly baseUrl: string;
  /** From the start of a request to the last byte of its reply, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * The interface's login and token area. Each call puts at most one request on the wire: a failed login counts towards
 * the account's lockout, and a refresh token may be good for one use. Nothing throws.
 */
export interface AccountClient {
  login(credentials: AccountCredentials, signal?: AbortSignal): Promise<LoginOutcome>;
  refresh(refreshToken: string, signal?: AbortSignal): Promise<LoginOutcome>;
  /** Closes the idle connections. */
  close(): void;
}

/** Both operations carry it (interface page, area B). */
const ASKED_BY_SCRIPT = { 'x-requested-with': 'XMLHttpRequest' };

/** A client for one service. Throws a TypeError if the base URL is none. */
export function createAccountClient({ baseUrl, timeoutMs }: AccountSettings): AccountClient {
  const base = baseOf(baseUrl);
  const transport = createTransport({ timeoutMs, maxSockets: Number.POSITIVE_INFINITY });

  return {
    async login({ username, password, targetAccountId }, signal) {
      const exchange = await transport.exchange({
        method: 'POST',
        url: `${base}/api/login`,
        headers: ASKED_BY_SCRIPT,
        body: JSON.stringify({ username, password, targetAccountId }),
        ...(signal && { signal }),
      });
      return loginOutcome(exchange, [password, username]);
    },
    async refresh(refreshToken, signal) {
      const exchange = await transport.exchange({
        method: 'GET',
        url: `${base}/api/RefreshToken`,
        headers: { ...ASKED_BY_SCRIPT, 'x-authorization': `Bearer ${refreshToken}` },
        ...(signal && { signal }),
      });
      return loginOutcome(exchange, [refreshToken]);
    },
    close: () => transport.close(),
  };
}
