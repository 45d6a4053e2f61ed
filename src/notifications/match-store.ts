import { z } from 'zod';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { digestOf, everAccepted, indexKey, type Located, parseLocated } from '../recipients/request-index.js';
import { NO_EPOCH } from '../sending/unknown.js';

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
const sendClaim = z.object({ at: z.number(), epoch: z.number() });

/** What matching a notification to an unknown outcome reads and writes. Every call is safe to repeat. */
export function matchStore(lane: LaneStore) {
  const { redis, keys, id } = lane;
  const run = (action: 'match' | 'clear', { number, campaign, first, requestId }: Match, time?: number) => {
    const digest = digestOf(requestId);
    const args = { action, claim: number, campaign, first, requestId, digest: digest.field, time };
    return matchUnknown(lane, args, [indexKey(keys, id, digest)]);
  };
  return {
    /** Records the match and makes a poll of the request due. False if the batch is settled, or the request is known by now. */
    match: (match: Match, now?: number): Promise<boolean> => run('match', match, now),

    /** Removes a match that the service has disproved. */
    clear: (match: Match): Promise<boolean> => run('clear', match),

    /**
     * When the oldest send in flight was claimed, in ms of Redis time: its response may still name the request of a report
     * that came later. Infinity if none is in flight; 0 if a claim was replayed, because its time is not known.
     */
    async oldestSend(): Promise<number> {
      const claims = await redis.hvals(keys.lane(id, 'claims'));
      const times = claims.map((json) => {
        const { at, epoch } = sendClaim.parse(JSON.parse(json));
        return epoch === NO_EPOCH ? 0 : at;
      });
      return times.reduce((oldest, at) => Math.min(oldest, at), Number.POSITIVE_INFINITY);
    },

    /** Settled batches whose request id Volley never received. A report with an unknown id may belong to one of them. */
    async withoutId(): Promise<Located[]> {
      const members = await redis.zrange(keys.lane(id, 'unnamed'), '0', '-1');
      return members.map(parseLocated).filter((located) => located !== null);
    },

    /** Which of these ids belong to a request of a stored campaign. It may name an id that does not (1 in 20,000). */
    everAccepted: (requestIds: readonly string[]): Promise<ReadonlySet<string>> =>
      everAccepted(redis, keys, id, requestIds),
  };
}

/** See {@link matchStore}. */
export type MatchStore = ReturnType<typeof matchStore>;
