import type { TokenOutcome } from '../auth/outcome.js';
import type { TokenCache } from '../auth/token-cache.js';
import { type Clock, systemMachine } from '../clock.js';
import type { AccountCredentials, Credentials } from '../config/index.js';
import type { Bearer } from '../gateway/bearer.js';
import type { ClaimReply, Why } from './claims.js';
import type { Lane } from './lane.js';
import { NO_PERMIT } from './permit.js';

/** How long a lane waits before it reads its token again after Redis did not answer. */
const RETRY_MS = 1_000;
/** The shortest time a lane without a token waits, however soon one is expected. */
const MIN_WAIT_MS = 250;
/** A token that is refused within this time after its renewal is not the reason for a 401. */
const FRESH_MS = 60_000;

/** What a request needs to authenticate, or why there is none. `generation` identifies the token if the service refuses it. */
export type BearerOutcome =
  | { kind: 'token'; bearer: Bearer; generation: number }
  | Exclude<TokenOutcome, { kind: 'token' }>;

/** Where a lane gets what authenticates its requests: an API key, the access token that the fleet shares, or both. */
export interface TokenSource {
  get(): Promise<BearerOutcome>;
  /** Call it when the service answers 401 to the bearer of that generation. Returns a newer one. */
  replaceRefused(generation: number): Promise<BearerOutcome>;
  /**
   * Call it after a 401 that may have refused the call rather than the token. Returns a newer token, if there can be one, and
   * counts nothing against the account.
   */
  newerThan(generation: number): Promise<BearerOutcome>;
}

/** The token source of one lane. `cache` is required for a lane that sends an access token. */
export function laneTokenSource(
  lane: string,
  credentials: Credentials,
  cache: TokenCache | undefined,
  monotonic: Clock = systemMachine.monotonic,
): TokenSource {
  if (credentials.kind === 'apiKey' && credentials.xAuthorization !== 'accessToken')
    return keySource(lane, credentials.apiKey);
  if (cache === undefined) throw new TypeError(`lane ${lane} has an account but no token cache`);
  return credentials.kind === 'apiKey'
    ? keyAndTokenSource(lane, credentials, cache, monotonic)
    : accountSource(cache, credentials.xAuthorization === 'accessToken');
}

function keySource(lane: string, apiKey: string): TokenSource {
  const key = { kind: 'token', bearer: { authorization: apiKey }, generation: 0 } as const;
  return {
    get: async () => key,
    newerThan: async () => key,
    replaceRefused: async () => ({
      kind: 'stopped',
      reason: `the service does not accept the API key of lane ${lane} (401); correct it, then: volley lane resume ${lane}`,
    }),
  };
}

function accountSource(cache: TokenCache, isSentTwice: boolean): TokenSource {
  const bearerOf = bearing((token) => ({
    authorization: token,
    ...(isSentTwice ? { xAuthorization: token } : {}),
  }));
  return {
    get: async () => bearerOf(await cache.get()),
    replaceRefused: async (generation) => bearerOf(await cache.replaceRefused(generation)),
    newerThan: async (generation) => bearerOf(await cache.newerThan(generation)),
  };
}

/**
 * The key in `Authorization` and the token in `X-Authorization`. A 401 does not say which of them the service refuses, and only the
 * token can be renewed. If a renewed token gets a 401 too, the key is wrong. Other lanes may use the same account, so nothing
 * counts against it.
 */
function keyAndTokenSource(
  lane: string,
  { apiKey, account }: { apiKey: string; account?: AccountCredentials },
  cache: TokenCache,
  monotonic: Clock,
): TokenSource {
  const bearerOf = bearing((token) => ({ authorization: apiKey, xAuthorization: token }));
  const user = JSON.stringify(account?.username ?? '');
  let renewed: { generation: number; at: number } | undefined;
  return {
    get: async () => bearerOf(await cache.get()),
    newerThan: async (generation) => bearerOf(await cache.newerThan(generation)),
    async replaceRefused(generation) {
      if (renewed?.generation === generation && monotonic() - renewed.at < FRESH_MS)
        return {
          kind: 'stopped',
          reason: `the service answers 401 to the API key of lane ${lane}, also together with a fresh access token of ${user}: correct the key, then: volley lane resume ${lane}`,
        };
      const newer = await cache.newerThan(generation);
      if (newer.kind === 'token') renewed = { generation: newer.generation, at: monotonic() };
      return bearerOf(newer);
    },
  };
}

const bearing =
  (bearer: (token: string) => Bearer) =>
  (outcome: TokenOutcome): BearerOutcome =>
    outcome.kind === 'token'
      ? { kind: 'token', bearer: bearer(outcome.token), generation: outcome.generation }
      : outcome;

/** What a request may carry now. */
type UsableToken = Extract<BearerOutcome, { kind: 'token' }>;

/** The token that the requests of one turn carry, and what happens to the lane when there is none. */
interface TurnCredentials {
  /** Undefined: no request may be sent. */
  current(): UsableToken | undefined;
  /**
   * Call it when the service answers 401 to this token. Fetches a newer one. If that stops the lane, it returns the reason, and
   * the caller settles its claim as `stopped`.
   */
  replaceRefused(used: UsableToken): Promise<string | undefined>;
  /** Call it before each claim. Undefined when there is a token; otherwise the reply to use in place of a claim. */
  closed(): Promise<ClaimReply<never> | undefined>;
}

/** Gets the token for a turn of this lane. Rejects if Redis does not answer. */
export async function turnCredentials(lane: Lane, tokens: TokenSource): Promise<TurnCredentials> {
  let token = await tokens.get();
  let isRefused = false;

  const closedFor = (why: Why, againInMs: number | null): ClaimReply<never> => {
    return { claims: [], permit: NO_PERMIT, why, againInMs, now: lane.clock(), events: [] };
  };
  return {
    current: () => (token.kind === 'token' ? token : undefined),

    async replaceRefused(used) {
      token = await tokens.replaceRefused(used.generation).catch((error: unknown) => {
        // Redis did not answer. The 401 is settled anyway, and the lane reads its token again later.
        const reason = error instanceof Error ? error.message : String(error);
        return { kind: 'later', at: lane.clock() + RETRY_MS, reason } as const;
      });
      isRefused = token.kind === 'stopped';
      return token.kind === 'stopped' ? token.reason : undefined;
    },

    async closed() {
      // Settling the refused claim stops the lane, unless an operator has resumed it in the meantime. In that case the next
      // turn finds out whether the token works.
      if (isRefused) return closedFor('stopped', null);
      token = await tokens.get();
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
        case 'later':
          return closedFor('waiting', Math.max(MIN_WAIT_MS, token.at - lane.clock()));
        case 'stopped':
          return closedFor('stopped', null);
        default:
          return token satisfies never;
      }
    },
  };
}
