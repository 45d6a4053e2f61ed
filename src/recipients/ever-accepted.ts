import { z } from 'zod';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { acceptedKey, RECORDS_PER_HASH, recordsKey } from './campaign-keys.js';
import { parseRecord } from './records.js';
import { digestOf } from './request-index.js';

/** As in request-index.lua, which writes the filter. */
const BLOOM_HASHES = 8;
/** Hashes of records that are read at a time. */
const READ_AT_ONCE = 100;

/** Of a campaign's state: its ordinals, the requests that were accepted, and how many of those are in its filter. */
const campaignState = z.object({
  ordinals: z.number(),
  accepted: z.number().default(0),
  remembered: z.number().default(0),
});

/**
 * Which of these ids the service has ever given to a request of a stored campaign. The campaigns' Bloom filters say so, and
 * may name an id too many. Requests that were accepted while notifications were off are in no filter: of such a campaign, the
 * records are read, one after the other.
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
    const { ordinals, accepted, remembered } = campaignState.parse(JSON.parse(json));
    const bits = 64 + 24 * ordinals;
    const reads = requestIds.flatMap((id) => {
      const [start, step] = digestOf(id).hashes;
      const places = Array.from({ length: BLOOM_HASHES }, (_, at) => (start + at * step) % bits);
      return places.flatMap((place) => ['GET', 'u1', place]);
    });
    const reply = await redis.call('BITFIELD_RO', acceptedKey(keys, lane, campaign), ...reads);
    const set = z.array(z.number()).parse(reply);
    for (const [at, id] of requestIds.entries()) {
      if (set.slice(at * BLOOM_HASHES, (at + 1) * BLOOM_HASHES).every((bit) => bit === 1)) found.add(id);
    }
    if (accepted <= remembered) continue;
    for await (const id of recordedIds(redis, keys, lane, campaign, ordinals)) {
      if (requestIds.includes(id)) found.add(id);
    }
  }
  return found;
}

async function* recordedIds(
  redis: Redis,
  keys: Keys,
  lane: string,
  campaign: string,
  end: number,
): AsyncGenerator<string> {
  for (let from = 0; from < end; from += READ_AT_ONCE * RECORDS_PER_HASH) {
    const hashes = Math.min(READ_AT_ONCE, Math.ceil((end - from) / RECORDS_PER_HASH));
    const reads = Array.from({ length: hashes }, (_, at) =>
      redis.hvals(recordsKey(keys, lane, campaign, from + at * RECORDS_PER_HASH)),
    );
    for (const text of (await Promise.all(reads)).flat()) yield parseRecord(text).requestId;
  }
}
