import type { Credentials } from '../../base/config/index.js';
import type { TokenOutcome } from '../../service/auth/outcome.js';
import type { TokenCache } from '../../service/auth/token-cache.js';
import type { Bearer } from '../../service/client/bearer.js';
import type { BearerOutcome, TokenSource } from '../jobs/token-source.js';

/** A token this young has not expired. */
const FRESH_MS = 60_000;

/** The token source of one lane. `cache` is required for a lane that sends an access token. `isStored`: in Redis (stored-lanes.ts). */
export function laneTokenSource(
  lane: string,
  credentials: Credentials,
  cache: TokenCache | undefined,
  isStored = false,
): TokenSource {
  const correct = isStored
    ? `correct it with \`volley lane set ${lane}\``
    : 'correct it and restart the workers, which read it when they start';
  if (credentials.kind === 'apiKey' && credentials.xAuthorization !== 'accessToken')
    return keySource(lane, credentials.apiKey, correct);
  if (cache === undefined) throw new TypeError(`lane ${lane} has an account but no token cache`);
  if (credentials.kind === 'apiKey') {
    const { apiKey, account } = credentials;
    const user = JSON.stringify(account?.username ?? '');
    return accountSource(cache, {
      bearer: (token) => ({ authorization: apiKey, xAuthorization: token }),
      // A 401 does not say which of the two the service refuses, and other lanes may use the account.
      replace: 'newerThan',
      reason: `the service answers 401 to the API key of lane ${lane}, also together with a fresh access token of ${user}: ${correct}`,
    });
  }
  const isSentTwice = credentials.xAuthorization === 'accessToken';
  const user = JSON.stringify(credentials.username);
  return accountSource(cache, {
    bearer: (token) => ({ authorization: token, ...(isSentTwice ? { xAuthorization: token } : {}) }),
    replace: 'replaceRefused',
    reason: `the service answers 401 even to a fresh access token of ${user}: check that this account may use messaging`,
  });
}

/** `correct`: how an operator corrects the key. */
function keySource(lane: string, apiKey: string, correct: string): TokenSource {
  const key = { kind: 'token', bearer: { authorization: apiKey }, generation: 0 } as const;
  return {
    get: async () => key,
    getForRequest: async () => key,
    newerThan: async () => key,
    worked: () => {},
    replaceRefused: async () => ({
      kind: 'stopped',
      reason: `the service does not accept the API key of lane ${lane} (401): ${correct}`,
    }),
  };
}

/**
 * A token of the account, with or without an API key beside it. A 401 may mean that the token has expired, or that the service
 * refuses whatever token it gets. So after a 401 the next request carries a token that was received just now, however seldom the
 * lane sends. If that is refused too, a newer one does not help, and the lane stops with `reason`.
 */
function accountSource(cache: TokenCache, { bearer, replace, reason }: AccountSourceOptions): TokenSource {
  /** The last answer was a 401. */
  let isRefused = false;
  /** The latest generation that the service has accepted. */
  let accepted = 0;
  /** Generations that were fresh when they were returned after a 401. */
  const fresh = new Set<number>();
  const bearerOf = (outcome: TokenOutcome): BearerOutcome => {
    if (outcome.kind !== 'token') return outcome;
    const { token, generation, ageMs } = outcome;
    if (isRefused && ageMs < FRESH_MS) fresh.add(generation);
    return { kind: 'token', bearer: bearer(token), generation };
  };
  return {
    get: async () => bearerOf(await cache.get()),
    async getForRequest() {
      const current = await cache.get();
      if (!isRefused || current.kind !== 'token' || current.ageMs < FRESH_MS) return bearerOf(current);
      const newer = await cache.newerThan(current.generation);
      return bearerOf(newer.kind === 'token' ? newer : current);
    },
    newerThan: async (generation) => bearerOf(await cache.newerThan(generation)),
    async replaceRefused(generation) {
      const stopped = { kind: 'stopped', reason } as const;
      const wasFresh = fresh.has(generation);
      if (wasFresh && replace === 'newerThan') return stopped;
      isRefused = true;
      // One that has worked is not refused as a fresh one would be: it lives less than a minute.
      const current = generation === accepted ? await cache.get() : undefined;
      const isShort = current?.kind === 'token' && current.ageMs < FRESH_MS;
      const newer = await cache[isShort ? 'newerThan' : replace](generation);
      return wasFresh && newer.kind === 'token' ? stopped : bearerOf(newer);
    },
    worked(generation) {
      accepted = Math.max(accepted, generation);
      isRefused = false;
      fresh.clear();
    },
  };
}

/** How {@link accountSource} uses a token. */
interface AccountSourceOptions {
  readonly bearer: (token: string) => Bearer;
  /** How to replace a refused token: `replaceRefused` counts against the account, and stops it for all lanes. */
  readonly replace: 'newerThan' | 'replaceRefused';
  /** Why the lane stops if the service refuses fresh tokens. */
  readonly reason: string;
}
