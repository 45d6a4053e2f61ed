import type { TokenOutcome } from '../auth/outcome.js';
import type { TokenCache } from '../auth/token-cache.js';
import type { Credentials } from '../config/index.js';
import type { ClaimReply, Why } from './claims.js';
import type { Lane } from './lane.js';
import { NO_PERMIT } from './permit.js';

/** How long a lane waits before it reads its token again after Redis did not answer. */
const RETRY_MS = 1_000;
/** The shortest time a lane without a token waits, however soon one is expected. */
const MIN_WAIT_MS = 250;

/** Where a lane gets its tokens: an API key, which never changes, or the access token that the fleet shares. */
export interface TokenSource {
  get(): Promise<TokenOutcome>;
  /** Call it when the service answers 401 to the token of that generation. Returns a newer token. */
  replaceRefused(generation: number): Promise<TokenOutcome>;
  /**
   * Call it after a 401 that may have refused the call rather than the token. Returns a newer token, if there can be one, and
   * counts nothing against the account.
   */
  newerThan(generation: number): Promise<TokenOutcome>;
}

/** The token source of one lane. `cache` is required for a lane with an account. */
export function laneTokenSource(
  lane: string,
  credentials: Credentials,
  cache: TokenCache | undefined,
): TokenSource {
  if (credentials.kind === 'apiKey') {
    const key = { kind: 'token', token: credentials.apiKey, generation: 0 } as const;
    return {
      get: async () => key,
      newerThan: async () => key,
      replaceRefused: async () => ({
        kind: 'stopped',
        reason: `the service does not accept the API key of lane ${lane} (401); correct it, then: volley lane resume ${lane}`,
      }),
    };
  }
  if (cache === undefined) throw new TypeError(`lane ${lane} has an account but no token cache`);
  return {
    get: () => cache.get(),
    replaceRefused: (generation) => cache.replaceRefused(generation),
    newerThan: (generation) => cache.newerThan(generation),
  };
}

/** A token that a request may carry. `generation` identifies it if the service refuses it. */
type UsableToken = Extract<TokenOutcome, { kind: 'token' }>;

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
