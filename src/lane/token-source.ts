import type { BearerOutcome } from '../auth/outcome.js';
import type { TokenCache } from '../auth/token-cache.js';
import type { Credentials } from '../config/index.js';
import type { ClaimReply, Why } from '../sending/claims.js';
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

/** What a request carries; `generation` names it when it is refused. */
export type Proof = Extract<BearerOutcome, { kind: 'token' }>;

/** What a turn's requests carry, and what follows for the lane when there is nothing to carry. */
export interface TurnProof {
  /** Undefined when a request may not go out. */
  current(): Proof | undefined;
  /** The service answered 401 to it. The reason, when that stops the lane: the caller settles its claim so. */
  refused(used: Proof): Promise<string | undefined>;
  /** Before a claim: undefined when there is something to carry; else why nothing is to be claimed. */
  closed(): Promise<ClaimReply<never> | undefined>;
}

/** What a turn of this lane goes by. Rejects when Redis cannot be asked. */
export async function proofOfTurn(lane: Lane, bearer: Bearer): Promise<TurnProof> {
  let token = await bearer.get();
  let isRefused = false;

  const closedFor = (why: Why, againInMs: number | null): ClaimReply<never> => {
    return { claims: [], why, againInMs, now: lane.clock(), events: [] };
  };
  return {
    current: () => (token.kind === 'token' ? token : undefined),

    async refused(used) {
      token = await bearer.refused(used.generation).catch((error: unknown) => {
        // Redis could not be asked for a newer one: what was answered is settled all the same, and the lane asks again.
        const reason = error instanceof Error ? error.message : String(error);
        return { kind: 'later', at: lane.clock() + ASK_AGAIN_MS, reason } as const;
      });
      isRefused = token.kind === 'stopped';
      return token.kind === 'stopped' ? token.reason : undefined;
    },

    async closed() {
      // The claim that was refused is settled as what stops the lane, unless an operator has opened it meanwhile; and then
      // the next turn finds out whether that has helped.
      if (isRefused) return closedFor('stopped', null);
      token = await bearer.get();
      if (token.kind === 'stopped') {
        // Looked at again after the lane: what an operator mends before opening it must not stop it once more.
        const { epoch } = await lane.answered(() => lane.views.look());
        token = await bearer.get();
        if (token.kind === 'stopped') {
          const { reason } = token;
          const isStopped = await lane.answered(() => lane.commands.stop(reason, epoch));
          if (isStopped) lane.tell([{ type: 'stopped', reason }]);
        }
      }
      switch (token.kind) {
        case 'token':
          return undefined;
        case 'later':
          return closedFor('waiting', Math.max(NO_SOONER_MS, token.at - lane.clock()));
        case 'stopped':
          return closedFor('stopped', null);
        default:
          return token satisfies never;
      }
    },
  };
}
