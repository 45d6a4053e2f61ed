import { createTokenCache, type TokenCache } from '../auth/token-cache.js';
import type { Config, LaneSettings } from '../config/index.js';
import type { Events } from '../events/events.js';
import { createAccountClient } from '../gateway/accounts.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { noSuchLane } from './lane.js';
import { type TokenGot, tellOfToken } from './token-events.js';
import { type Bearer, laneBearer } from './token-source.js';

/** What the lanes of a process prove themselves with. */
export interface Bearers {
  /** The token of a lane with an account, made when it is first asked for; null for a lane with an API key. */
  tokenOf(lane: string): TokenCache | null;
  /** Throws a NotFoundError for a lane that is not there, as `tokenOf` does. */
  bearerOf(lane: string): Bearer;
  /** Stops waiting for others' logins, and sees through what is on the wire. */
  close(): Promise<void>;
}

/** What {@link openBearers} goes by. */
export interface BearersOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly events: Events;
  /** Throws where only the part is known that needs no credentials. */
  config(): Config;
}

/** Nothing is connected to, and no credentials are needed, before the first call. */
export function openBearers({ redis, keys, events, config }: BearersOptions): Bearers {
  const tokens = new Map<string, TokenCache>();
  const closers: (() => Promise<void>)[] = [];

  const settingsOf = (lane: string): LaneSettings => {
    const { lanes } = config();
    const found = lanes.find(({ name }) => name === lane);
    if (found !== undefined) return found;
    throw noSuchLane(
      lane,
      lanes.map(({ name }) => name),
    );
  };

  const tokenOf = (lane: string): TokenCache | null => {
    const { credentials } = settingsOf(lane);
    if (credentials.kind === 'apiKey') return null;
    const known = tokens.get(lane);
    if (known !== undefined) return known;
    const { accountBaseUrl, requestTimeoutMs, secretsKey } = config();
    const accounts = createAccountClient({ baseUrl: accountBaseUrl, timeoutMs: requestTimeoutMs });
    const told = (got: TokenGot) => tellOfToken(events, lane, got);
    const cache = createTokenCache({
      redis,
      keys,
      account: credentials,
      requestTimeoutMs,
      secretsKey,
      login: (signal) => accounts.login(credentials, signal).then(told('token.loggedIn')),
      refresh: (refreshToken, signal) => accounts.refresh(refreshToken, signal).then(told('token.refreshed')),
    });
    closers.push(() => cache.close().then(() => accounts.close()));
    tokens.set(lane, cache);
    return cache;
  };

  return {
    tokenOf,
    bearerOf: (lane) => laneBearer(lane, settingsOf(lane).credentials, tokenOf(lane) ?? undefined),
    async close() {
      await Promise.all(closers.map((close) => close()));
    },
  };
}
