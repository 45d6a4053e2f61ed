import type { Credentials } from '../../base/config/index.js';
import type { TokenOutcome } from '../../service/auth/outcome.js';
import type { TokenCache } from '../../service/auth/token-cache.js';
import type { Bearer } from '../../service/client/bearer.js';
import type { ClaimReply, Why } from './claims.js';
import type { Lane } from './lane.js';
import { NO_PERMIT } from './permit.js';

/** How long a lane waits before it reads its token again after Redis did not answer. */
const RETRY_MS = 1_000;
/** The shortest time a lane without a token waits, however soon one is expected. */
const MIN_WAIT_MS = 250;
/** A lane that has waited so long for the account service says so. */
const SLOW_MS = 1_000;
/** A token this young has not expired. */
const FRESH_MS = 60_000;

/** What a request needs to authenticate, or why there is none. `generation` identifies the token if the service refuses it. */
export type BearerOutcome =
  | { kind: 'token'; bearer: Bearer; generation: number }
  | Exclude<TokenOutcome, { kind: 'token' }>;

/** Where a lane gets what authenticates its requests: an API key, the access token that the fleet shares, or both. */
export interface TokenSource {
  /** What requests may carry now. Fetches a token only if there is none that lasts. */
  get(): Promise<BearerOutcome>;
  /** Call it right before a request: after a 401, the next request carries a token that was received just now. */
  getForRequest(): Promise<BearerOutcome>;
  /** Call it when the service answers 401 to the bearer of that generation. Returns a newer one. */
  replaceRefused(generation: number): Promise<BearerOutcome>;
  /**
   * Call it after a 401 that may have refused the call rather than the token. Returns a newer token, if there can be one, and
   * counts nothing against the account.
   */
  newerThan(generation: number): Promise<BearerOutcome>;
  /** Call it when the service answers anything but 401: it accepts what it got. */
  worked(): void;
}

/** The token source of one lane. `cache` is required for a lane that sends an access token. */
export function laneTokenSource(
  lane: string,
  credentials: Credentials,
  cache: TokenCache | undefined,
): TokenSource {
  if (credentials.kind === 'apiKey' && credentials.xAuthorization !== 'accessToken')
    return keySource(lane, credentials.apiKey);
  if (cache === undefined) throw new TypeError(`lane ${lane} has an account but no token cache`);
  const resume = `run \`volley lane resume ${lane}\``;
  if (credentials.kind === 'apiKey') {
    const { apiKey, account } = credentials;
    const user = JSON.stringify(account?.username ?? '');
    return accountSource(cache, {
      bearer: (token) => ({ authorization: apiKey, xAuthorization: token }),
      // A 401 does not say which of the two the service refuses, and other lanes may use the account.
      replace: 'newerThan',
      reason: `the service answers 401 to the API key of lane ${lane}, also together with a fresh access token of ${user}: correct the key, then ${resume}`,
    });
  }
  const isSentTwice = credentials.xAuthorization === 'accessToken';
  const user = JSON.stringify(credentials.username);
  return accountSource(cache, {
    bearer: (token) => ({ authorization: token, ...(isSentTwice ? { xAuthorization: token } : {}) }),
    replace: 'replaceRefused',
    reason: `the service answers 401 even to a fresh access token of ${user}: check that this account may use messaging, then ${resume}`,
  });
}

function keySource(lane: string, apiKey: string): TokenSource {
  const key = { kind: 'token', bearer: { authorization: apiKey }, generation: 0 } as const;
  return {
    get: async () => key,
    getForRequest: async () => key,
    newerThan: async () => key,
    worked: () => {},
    replaceRefused: async () => ({
      kind: 'stopped',
      reason: `the service does not accept the API key of lane ${lane} (401); correct it, then run \`volley lane resume ${lane}\``,
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
      const newer = await cache[replace](generation);
      return wasFresh && newer.kind === 'token' ? stopped : bearerOf(newer);
    },
    worked() {
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

/** What a request may carry now. */
type UsableToken = Extract<BearerOutcome, { kind: 'token' }>;

/** The token that the requests of one turn carry, and what happens to the lane when there is none. */
interface TurnCredentials {
  /** Undefined: no request may be sent. */
  current(): UsableToken | undefined;
  /**
   * Call it right before a request. After a 401, it fetches a newer token. Undefined: no request may be sent, or Redis does not
   * answer.
   */
  forRequest(): Promise<UsableToken | undefined>;
  /**
   * Call it when the service answers 401 to this token. Fetches a newer one. If that stops the lane, it returns the reason, and
   * the caller settles its claim as `stopped`.
   */
  replaceRefused(used: UsableToken): Promise<string | undefined>;
  /** Call it when the service answers anything but 401. */
  worked(): void;
  /** Call it before each claim. Undefined when there is a token; otherwise the reply to use in place of a claim. */
  closed(): Promise<ClaimReply<never> | undefined>;
}

/** Gets the token for a turn of this lane. Rejects if Redis does not answer. */
export async function turnCredentials(lane: Lane, tokens: TokenSource): Promise<TurnCredentials> {
  const get = async (): Promise<BearerOutcome> => {
    const slow = 'the account service has not answered yet';
    const silence = lane.alarm(SLOW_MS, () => void lane.commands.awaitToken(slow, 0).catch(() => {}));
    try {
      return await tokens.get();
    } finally {
      silence();
    }
  };
  let token = await get();
  let isRefused = false;

  const closedFor = (why: Why, againInMs: number | null): ClaimReply<never> => {
    return { claims: [], permit: NO_PERMIT, why, againInMs, now: lane.clock(), events: [] };
  };
  const current = (): UsableToken | undefined => (token.kind === 'token' ? token : undefined);
  return {
    current,
    worked: () => tokens.worked(),

    async forRequest() {
      if (current() === undefined) return undefined;
      const newest = await tokens.getForRequest().catch(() => undefined);
      if (newest === undefined) return undefined;
      // Meanwhile, the response to another request may have stopped the lane, or brought a token that is newer still.
      if (token.kind === 'token' && !(newest.kind === 'token' && newest.generation < token.generation))
        token = newest;
      return current();
    },

    async replaceRefused(used) {
      token = await tokens.replaceRefused(used.generation).catch((error: unknown) => {
        // Redis did not answer. The 401 is settled anyway, and the lane reads its token again later.
        const reason = error instanceof Error ? error.message : String(error);
        return { kind: 'later', at: lane.clock() + RETRY_MS, reason, cause: reason } as const;
      });
      isRefused = token.kind === 'stopped';
      return token.kind === 'stopped' ? token.reason : undefined;
    },

    async closed() {
      // Settling the refused claim stops the lane, unless an operator has resumed it in the meantime. In that case the next
      // turn finds out whether the token works.
      if (isRefused) return closedFor('stopped', null);
      token = await get();
      if (token.kind === 'stopped') {
        // Read the lane's epoch first and the token again afterwards: a lane whose credentials an operator corrects before
        // resuming it must not be stopped once more.
        const { epoch } = await lane.retry(() => lane.freshStatus());
        token = await tokens.get();
        if (token.kind === 'stopped') {
          const { reason } = token;
          const isStopped = await lane.retry(() => lane.commands.stop(reason, epoch));
          if (isStopped) lane.emit([{ type: 'stopped', reason }]);
        }
      }
      switch (token.kind) {
        case 'token':
          return undefined;
        case 'later': {
          const { cause, at } = token;
          const inMs = Math.max(MIN_WAIT_MS, at - lane.clock());
          await lane.retry(() => lane.commands.awaitToken(cause, inMs));
          return closedFor('waiting', inMs);
        }
        case 'stopped':
          return closedFor('stopped', null);
        default:
          return token satisfies never;
      }
    },
  };
}
