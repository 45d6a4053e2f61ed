import { type ClaimCall, type ClaimReply, claimReply, confirmClaim } from '../lane/claims.js';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { grantPermit, NO_PERMIT } from '../lane/permit.js';

/** A request that may be polled: that of the batch that begins at `first`. */
export interface PollClaim {
  /** Identifies the claim. Numbers only increase. */
  readonly number: number;
  /** The turn that made it. */
  readonly turn: string;
  readonly campaign: string;
  readonly first: number;
}

const claimPoll = laneScript(
  import.meta.url,
  './claim-poll.lua',
  claimReply(({ number, turn, campaign, first }): PollClaim => ({ number, turn, campaign, first })),
  { comparesClock: true },
);

/** The claims of a lane's polls. Each call is safe to repeat. */
export function pollClaims(store: LaneStore) {
  return {
    /** Claims the requests that are due for a poll. */
    take: async ({
      turn,
      call,
      want,
      age = NO_PERMIT.age,
      seen = 0,
      process = '',
      now,
    }: ClaimCall): Promise<ClaimReply<PollClaim>> => ({
      ...(await claimPoll(store, { turn, call, want, seen, process, time: now })),
      permit: grantPermit(store.rules, age),
    }),
    /** Whether the claim still holds, and so its permit. */
    confirm: (claim: PollClaim): Promise<boolean> => confirmClaim(store, 'poll', claim),
  };
}

/** See {@link pollClaims}. */
export type PollClaims = ReturnType<typeof pollClaims>;
