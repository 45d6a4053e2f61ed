import { z } from 'zod';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { acceptedKey, RECORDS_IN_A_HASH, recordsKey } from './campaign-keys.js';
import { parseRecord } from './records.js';
import { digestOf } from './request-index.js';

const BITS_AN_ID = 8;
/** Hashes of records that are asked for in one go. */
const AT_ONCE = 100;

/** Of a campaign's state: its ordinals, requests that were accepted of it, and those of them that its filter has seen. */
const counted = z.object({
  end: z.number(),
  accepted: z.number().default(0),
  remembered: z.number().default(0),
});

/**
 * Which of these ids the service has ever given to a request of a campaign that is still kept; a few too many. A campaign's
 * filter tells. What was accepted while notifications were not on is in no filter: then the records tell, one after the other.
 */
export async function everAccepted(
  redis: Redis,
  keys: Keys,
  lane: string,
  requestIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const states = await redis.hgetall(keys.lane(lane, 'states'));
  const found = new Set<string>();
  for (const [campaign, json] of Object.entries(states)) {
    const { end, accepted, remembered } = counted.parse(JSON.parse(json));
    const bits = 64 + 24 * end;
    const reads = requestIds.flatMap((id) => {
      const [start, step] = digestOf(id).hashes;
      return Array.from({ length: BITS_AN_ID }, (_, at) => ['GET', 'u1', (start + at * step) % bits]).flat();
    });
    const answers = z
      .array(z.number())
      .parse(await redis.call('BITFIELD_RO', acceptedKey(keys, lane, campaign), ...reads));
    for (const [at, id] of requestIds.entries()) {
      if (answers.slice(at * BITS_AN_ID, (at + 1) * BITS_AN_ID).every((bit) => bit === 1)) found.add(id);
    }
    if (accepted <= remembered) continue;
    for await (const id of recordedIds(redis, keys, lane, campaign, end)) {
      if (requestIds.includes(id)) found.add(id);
    }
  }
  return found;
}

/** The ids in the records of a campaign. */
async function* recordedIds(
  redis: Redis,
  keys: Keys,
  lane: string,
  campaign: string,
  end: number,
): AsyncGenerator<string> {
  for (let from = 0; from < end; from += AT_ONCE * RECORDS_IN_A_HASH) {
    const hashes = Math.min(AT_ONCE, Math.ceil((end - from) / RECORDS_IN_A_HASH));
    const asked = Array.from({ length: hashes }, (_, at) =>
      redis.hvals(recordsKey(keys, lane, campaign, from + at * RECORDS_IN_A_HASH)),
    );
    for (const text of (await Promise.all(asked)).flat()) yield parseRecord(text).requestId;
  }
}
