import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { possibleFormsOf } from '../../campaign/numbers/number-forms.js';
import { DamagedError } from '../recipients/damaged.js';
import { ordinalNumbers, SLICE } from '../recipients/slices.js';

const sendClaim = z.object({
  campaign: z.string(),
  first: z.number(),
  count: z.number(),
  message: z.string().optional(),
});

/** Finds the messages to the subscriber of a number, E.164, whose requests workers are sending on these lanes. Each has an entry that identifies it. */
export type InFlight = (lanes: readonly LaneId[], number: string) => Promise<ReadonlySet<string>>;

/** Identifies a message by its place in a campaign. */
export const messageEntry = (lane: LaneId, campaign: string, ordinal: number): string =>
  `${lane} ${campaign} ${ordinal}`;

/** Opens the claims of all lanes. The numbers of their campaigns stay in memory, because a flood of replies follows a campaign. */
export function inFlightMessages(redis: Redis, keys: Keys): InFlight {
  const numbers = ordinalNumbers(redis, keys);
  /** The numbers of a claim. That of a lost worker may cover many batches, and numbers are read by the slice. */
  async function* numbersOf(lane: LaneId, claim: z.output<typeof sendClaim>) {
    const { campaign, first, count, message } = claim;
    for (let from = first; from < first + count; ) {
      const some = Math.min(first + count, (Math.floor(from / SLICE) + 1) * SLICE) - from;
      yield { from, found: await numbers(lane, { campaign, first: from, count: some, message }) };
      from += some;
    }
  }
  const inLane = async (lane: LaneId, wanted: ReadonlySet<number>): Promise<string[]> => {
    const messages: string[] = [];
    const claims = (await redis.hvals(keys.lane(lane, 'claims'))).map((json) =>
      sendClaim.parse(JSON.parse(json)),
    );
    for (const claim of claims) {
      try {
        for await (const { from, found } of numbersOf(lane, claim))
          for (const [at, number] of found.entries())
            if (wanted.has(number)) messages.push(messageEntry(lane, claim.campaign, from + at));
      } catch (error) {
        // The worker cannot read its numbers either, and sends nothing.
        if (!(error instanceof DamagedError)) throw error;
      }
    }
    return messages;
  };
  return async (lanes, number) => {
    const wanted = new Set(possibleFormsOf(number).map(Number));
    return new Set((await Promise.all(lanes.map((lane) => inLane(lane, wanted)))).flat());
  };
}
