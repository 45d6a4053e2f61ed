import type { BearerOutcome } from '../auth/outcome.js';
import type { TokenCache } from '../auth/token-cache.js';
import type { Credentials } from '../config.js';
import type { Lane } from './lane.js';

/** After Redis could not be asked for a token. */
const ASK_AGAIN_MS = 1_000;
/** A lane that waits for a token is asked again no sooner, however soon one is said to come. */
const NO_SOONER_MS = 250;

/** What a lane proves itself with: a key that never changes, or the token that the fleet shares. */
export interface Bearer {
  get(): Promise<BearerOutcome>;
  /** The service answered 401 to what `get` gave with that generation. */
  refused(generation: number): Promise<BearerOutcome>;
  /**
   * The same, where it may be the call that was refused and not the token: a newer one, if there can be one. It says nothing
   * against the lane.
   */
  renewed(generation: number): Promise<BearerOutcome>;
}

/** The bearer of one lane. `cache` is needed for an account. */
export function laneBearer(lane: string, credentials: Credentials, cache: TokenCache | undefined): Bearer {
  if (credentials.kind === 'apiKey') {
    const held = { kind: 'token', token: credentials.apiKey, generation: 0 } as const;
    return {
      get: async () => held,
      renewed: async () => held,
      refused: async () => ({
        kind: 'stopped',
        reason: `the service does not accept the API key of lane ${lane} (401); correct it, then: volley lane resume ${lane}`,
      }),
    };
  }
  if (cache === undefined) throw new TypeError(`lane ${lane} has an account but no token cache`);
  return {
    get: () => cache.bearer(),
    refused: (generation) => cache.refused(generation),
    renewed: (generation) => cache.renewed(generation),
  };
}

/** Redis could not be asked for a newer token: what was answered 401 is settled all the same, and the lane asks again. */
export function asLater({ clock }: Lane): (error: unknown) => BearerOutcome {
  return (error) => {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: 'later', at: clock() + ASK_AGAIN_MS, reason };
  };
}

/** Without a token nothing is claimed: the lane waits for the next login, or stops for the operator. */
export async function closedBy(token: Exclude<BearerOutcome, { kind: 'token' }>, lane: Lane) {
  const now = lane.clock();
  if (token.kind === 'stopped') {
    await lane.answered(() => lane.commands.lane('stop', token.reason));
    lane.tell([{ type: 'stopped', reason: token.reason }]);
    return { claims: [], why: 'stopped' as const, againInMs: null, now, events: [] };
  }
  return {
    claims: [],
    why: 'waiting' as const,
    againInMs: Math.max(NO_SOONER_MS, token.at - now),
    now,
    events: [],
  };
}
