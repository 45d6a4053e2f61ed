import type { AccountCredentials } from '../../base/account.js';
import { accountOf, type Config, type LaneSettings, serviceConnection } from '../../base/config/index.js';
import { exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { createTokenCache, type TokenCache } from '../../service/auth/token-cache.js';
import { lifetimeOf } from '../../service/auth/token-record.js';
import {
  type AccountClient,
  type AccountObserver,
  createAccountClient,
} from '../../service/client/accounts.js';
import { createClientTokens } from '../../service/client/client-tokens.js';
import type { LoginOutcome } from '../../service/login-outcome.js';
import type { TokenSource } from '../jobs/token-source.js';
import { noSuchLane } from './lane.js';
import { laneTokenSource } from './lane-token-source.js';

/** The token sources of a process's lanes. */
export interface TokenSources {
  /** The token cache of a lane with an account, created on first use; null for a lane with only an API key. Throws a NotFoundError. */
  cacheOf(lane: string): TokenCache | null;
  /** The token cache of an OAuth 2 client that belongs to no lane. `name`: for events. */
  cacheOfClient(name: string, client: OutsideClient): TokenCache;
  /** Throws a NotFoundError for an unknown lane. */
  tokenSourceOf(lane: string): TokenSource;
  /** Stops waiting for logins of other processes, and finishes the requests in flight. */
  close(): Promise<void>;
}

/** An OAuth 2 client that belongs to no lane, such as that of call records. */
interface OutsideClient {
  readonly tokenUrl: string;
  readonly id: string;
  readonly secret: string;
  /** Separated by spaces. */
  readonly scope: string;
}

interface TokenSourcesOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly events: Events;
  /** Throws if only the settings that need no credentials are loaded. */
  config(): Config;
  /** Receives the responses of the account service. */
  readonly observe?: AccountObserver | undefined;
}

/** Opens no connection and reads no credentials before the first call. */
export function openTokenSources({
  redis,
  keys,
  events,
  config,
  observe,
}: TokenSourcesOptions): TokenSources {
  /** The cache of each lane, for the account with which it was opened: a stored lane may get another. */
  const caches = new Map<string, { readonly account: string; readonly cache: TokenCache }>();
  const closers: (() => Promise<void>)[] = [];

  const settingsOf = (lane: string): LaneSettings => {
    const { lanes } = config();
    const settings = lanes.find(({ name }) => name === lane);
    if (settings !== undefined) return settings;
    throw noSuchLane(
      lane,
      lanes.map(({ name }) => name),
    );
  };

  const cacheOf = (lane: string): TokenCache | null => {
    const account = accountOf(settingsOf(lane).credentials);
    if (account === undefined) return null;
    const text = JSON.stringify(account);
    const known = caches.get(lane);
    if (known?.account === text) return known.cache;
    const cache = openCache(lane, account, config().tokenUrl);
    caches.set(lane, { account: text, cache });
    return cache;
  };

  const openCache = (lane: string, account: AccountCredentials, tokenUrl: string | undefined): TokenCache => {
    const settings = config();
    const { requestTimeoutMs, secretsKey, previousSecretsKey } = settings;
    const accounts = accountsOf({ ...settings, tokenUrl }, account, observe);
    const cache = createTokenCache({
      redis,
      keys,
      account,
      requestTimeoutMs,
      secretsKey,
      previousSecretsKey,
      async login(signal) {
        const outcome = await accounts.login(account, signal);
        emitTokenEvent(events, { lane, account }, 'token.loggedIn', outcome);
        return outcome;
      },
      async refresh(refreshToken, signal) {
        const outcome = await accounts.refresh(refreshToken, signal);
        emitTokenEvent(events, { lane, account }, 'token.refreshed', outcome);
        return outcome;
      },
    });
    closers.push(() => cache.close().then(() => accounts.close()));
    return cache;
  };

  return {
    cacheOf,
    cacheOfClient: (name, { tokenUrl, id: username, secret: password, scope }) =>
      openCache(name, { username, password, scope }, tokenUrl),
    tokenSourceOf(lane) {
      const { credentials, stored } = settingsOf(lane);
      return laneTokenSource(lane, credentials, cacheOf(lane) ?? undefined, stored !== undefined);
    },
    async close() {
      await Promise.all(closers.map((close) => close()));
    },
  };
}

/** How an account logs in, or an OAuth 2 client gets its tokens. */
function accountsOf(
  settings: Config,
  { username: id, password: secret, scope }: AccountCredentials,
  observe: AccountObserver | undefined,
): Pick<AccountClient, 'login' | 'refresh' | 'close'> {
  if (scope === undefined)
    return createAccountClient({ ...serviceConnection(settings, settings.accountBaseUrl), observe });
  const { tokenUrl: url } = settings;
  if (url === undefined) throw new TypeError('a lane has a client, but there is no TOKEN_URL');
  const { baseUrl: _, ...connection } = serviceConnection(settings, url);
  const tokens = createClientTokens({ ...connection, url, observe });
  return {
    login: (_credentials, signal) => tokens.get({ id, secret, scope }, signal),
    // There is no refresh token to present.
    refresh: async () => ({ kind: 'noAnswer', reason: 'a client has no refresh token' }),
    close: () => tokens.close(),
  };
}

/** Emits how a login or a refresh of a lane's account ended. `success` is the event for a new token pair. */
function emitTokenEvent(
  events: Events,
  { lane, account: { targetAccountId } }: { lane: string; account: AccountCredentials },
  success: 'token.loggedIn' | 'token.refreshed',
  outcome: LoginOutcome,
): void {
  const subject = { account: lane, targetAccount: targetAccountId ?? null };
  const refused = (reason: string): void => {
    events.emit({ type: 'token.refused', ...subject, reason });
  };
  const unanswered = (reason: string): void => {
    events.emit({ type: 'token.unanswered', ...subject, reason });
  };
  switch (outcome.kind) {
    case 'pair': {
      const life = lifetimeOf(outcome.accessToken, outcome.lifetimeMs);
      const lifetime = life === undefined ? null : exactDuration(life.expiresAfterMs);
      events.emit({ type: success, ...subject, lifetime });
      break;
    }
    case 'badCredential':
      refused('user name or password not valid (10126)');
      break;
    case 'wrongTarget':
      refused(`target account ${JSON.stringify(targetAccountId ?? '')} not valid (10117)`);
      break;
    case 'blocked':
      refused('the account is blocked (11044)');
      break;
    case 'refused':
      refused(outcome.reason);
      break;
    case 'loginTimeout':
      unanswered('the account service reports a timeout (10126)');
      break;
    case 'notSent':
    case 'noAnswer':
      unanswered(outcome.reason);
      break;
    default:
      outcome satisfies never;
  }
}
