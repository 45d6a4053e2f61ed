import { z } from 'zod';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { metaKey } from '../recipients/campaign-keys.js';
import { orNull } from '../recipients/damaged.js';
import { SLICE, unpackNumbers } from '../recipients/slice-blob.js';
import { countSlices, readSlices } from '../recipients/stored-slices.js';
import { readableMeta, readMeta, storedMeta } from '../store/campaign-meta.js';
import { readableState, readState } from '../store/campaigns.js';

/** The sets of a lane by which scripts find a campaign that is not over. */
const OPEN_SETS = ['running', 'scheduled', 'lapsing'] as const;

const claimed = z.object({ campaign: z.string(), count: z.number() });

/**
 * Makes a campaign readable whose stored data is damaged: keeps each member that can be read, such as its idempotency key, and its counts. If
 * its state cannot be read, the campaign becomes cancelled; the batches in flight stay open, and what became of the other recipients is not
 * known. Returns whether it was damaged. Repeating it is harmless.
 */
export async function makeReadable(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
): Promise<boolean> {
  const states = keys.lane(lane, 'states');
  const [meta, state, stored, text] = await Promise.all([
    orNull(readMeta(redis, keys, lane, campaign)),
    orNull(readState(redis, keys, lane, campaign)),
    redis.hget(states, campaign),
    redis.get(metaKey(keys, lane, campaign)),
  ]);
  if (stored === null || (meta !== null && state !== null)) return false;
  if (meta === null)
    await redis.set(
      metaKey(keys, lane, campaign),
      storedMeta({ ...readableMeta(campaign, lane, text ?? ''), preview: null }),
    );
  if (state !== null) return true;
  const of = { lane, campaign, series: 'slices' } as const;
  const slices = await countSlices(redis, keys, of);
  const [last] = slices === 0 ? [] : await readSlices(redis, keys, of, [slices - 1]);
  const ordinals = slices === 0 ? 0 : (slices - 1) * SLICE + (last ? unpackNumbers(last).length : 0);
  const [sending, unknown] = await Promise.all([
    countIn(redis, keys.lane(lane, 'claims'), campaign),
    countIn(redis, keys.lane(lane, 'unknown'), campaign),
  ]);
  const now = await serverTime(redis);
  const endedAt = sending + unknown > 0 ? 0 : now;
  const readable = readableState(stored, ordinals, { sending, unknown });
  for (const set of OPEN_SETS) await redis.zrem(keys.lane(lane, set), campaign);
  await redis.hset(states, campaign, JSON.stringify({ ...readable, endedAt }));
  if (endedAt > 0) await redis.zadd(keys.lane(lane, 'ended'), endedAt, campaign);
  return true;
}

/** How many recipients of a campaign are in the batches of a hash. */
async function countIn(redis: Redis, key: string, campaign: string): Promise<number> {
  const batches = (await redis.hvals(key)).map((json) => claimed.safeParse(JSON.parse(json)).data);
  return batches.reduce((sum, batch) => sum + (batch?.campaign === campaign ? batch.count : 0), 0);
}
