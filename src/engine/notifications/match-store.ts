import { z } from 'zod';
import type { LaneId } from '../../base/redis/keys.js';
import { digestOf, everAccepted, indexKey, type Located, parseLocated } from '../recipients/request-index.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { listUnknown, NO_EPOCH } from '../sending/unknown.js';

/** A batch with an unknown outcome, and the service's id of the request that it may be. */
interface Match {
  /** The batch's claim. */
  readonly number: number;
  readonly campaign: string;
  /** Ordinal of its first recipient. */
  readonly first: number;
  readonly requestId: string;
}

const matchUnknown = laneScript(import.meta.url, './match-unknown.lua', (reply) => reply === 1);

/** When a claim was made. A claim that a worker replayed after Redis lost it has `NO_EPOCH` and no such time. */
const sendClaim = z.object({
  at: z.number(),
  epoch: z.number(),
  campaign: z.string(),
  first: z.number(),
  count: z.number(),
  message: z.string().optional(),
});

/** A batch of another lane. */
interface OtherBatch extends Located {
  readonly lane: LaneId;
  /** In ms of Redis time; 0 if it is not known. */
  readonly claimedAt: number;
}

/**
 * What matching a notification to an unknown outcome reads and writes. Every call is safe to repeat. `others`: the lanes whose
 * requests may be reported at the same address.
 */
export function matchStore(lane: LaneStore, others: () => Promise<readonly LaneId[]> = async () => []) {
  const { redis, keys, id } = lane;
  const sendsInFlight = async (of: LaneId) => {
    const claims = await redis.hvals(keys.lane(of, 'claims'));
    return claims.map((json) => {
      const { at, epoch, ...batch } = sendClaim.parse(JSON.parse(json));
      return { ...batch, claimedAt: epoch === NO_EPOCH ? 0 : at };
    });
  };
  const withoutId = async (of: LaneId): Promise<Located[]> => {
    const members = await redis.zrange(keys.lane(of, 'unnamed'), '0', '-1');
    return members.map(parseLocated).filter((located) => located !== null);
  };
  const run = (
    action: 'match' | 'clear' | 'doubt',
    { number, campaign, first, requestId }: Match,
    time?: number,
  ) => {
    const digest = digestOf(requestId);
    const args = { action, claim: number, campaign, first, requestId, digest: digest.field, time };
    return matchUnknown(lane, args, [indexKey(keys, id, digest)]);
  };
  return {
    /** Records the match and makes a poll of the request due. False if the batch is settled, or the request is known by now. */
    match: (match: Match, now?: number): Promise<boolean> => run('match', match, now),

    /** Removes a match that the service has disproved; or else, if the reports that made it wait no more. False if it stays. */
    clear: (match: Match, isDisproved = true, now?: number): Promise<boolean> =>
      run(isDisproved ? 'clear' : 'doubt', match, now),

    /**
     * When the oldest send in flight was claimed, in ms of Redis time: its response may still name the request of a report
     * that came later. Infinity if none is in flight; 0 if a claim was replayed, because its time is not known.
     */
    async oldestSend(): Promise<number> {
      const sends = await sendsInFlight(id);
      return sends.reduce((oldest, { claimedAt }) => Math.min(oldest, claimedAt), Number.POSITIVE_INFINITY);
    },

    /** Settled batches whose request id Volley never received. A report with an unknown id may belong to one of them. */
    withoutId: () => withoutId(id),

    /**
     * The batches of other lanes that a report may be about instead: in flight, with an unknown outcome, or without a request id.
     * Read `everAccepted` afterwards: a send that ends in the meantime is in one of the two.
     */
    async elsewhere(): Promise<OtherBatch[]> {
      const lanes = await others();
      const perLane = await Promise.all(
        lanes.map(async (of) => {
          // In this order, for the same reason.
          const sends = await sendsInFlight(of);
          const unknown = await listUnknown({ redis, keys, id: of });
          const unnamed = await withoutId(of);
          return [
            ...sends,
            ...unknown.map((batch) => ({ ...batch, claimedAt: batch.isRestored ? 0 : batch.claimedAt })),
            ...unnamed.map((batch) => ({ ...batch, claimedAt: 0 })),
          ].map((batch) => ({ ...batch, lane: of }));
        }),
      );
      return perLane.flat();
    },

    /**
     * Which of these ids belong to a request of a stored campaign, also of a lane that may share the address. It may name an id
     * that does not (1 in 20,000).
     */
    async everAccepted(requestIds: readonly string[]): Promise<ReadonlySet<string>> {
      const perLane = await Promise.all(
        [id, ...(await others())].map((of) => everAccepted(redis, keys, of, requestIds)),
      );
      return new Set(perLane.flatMap((ids) => [...ids]));
    },
  };
}

/** See {@link matchStore}. */
export type MatchStore = ReturnType<typeof matchStore>;
