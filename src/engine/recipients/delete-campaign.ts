import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import {
  acceptedKey,
  costsKey,
  metaKey,
  progressKey,
  RECORDS_PER_HASH,
  recordsKey,
  SERIES,
  slicesKey,
  statusesKey,
  zonesKey,
} from './campaign-keys.js';
import { noteRemoval } from './removals.js';
import { digestOf, indexKey, keepFilter } from './request-index.js';
import { parseRecords } from './request-records.js';
import { releaseReservation } from './reservation.js';

/** Keys per command: a campaign of a million recipients has 8,000 hashes of records. */
const KEYS_PER_COMMAND = 500;

const forgetScript = loadScript(import.meta.url, './forget-campaign.lua', () => undefined);

/** The sorted sets of a lane that a campaign can be in. */
const CAMPAIGN_SETS = ['running', 'scheduled', 'lapsing', 'importing', 'ended'] as const;

/** A campaign whose data is deleted. */
interface DeletedCampaign {
  readonly lane: LaneId;
  readonly campaign: string;
  /** How many ordinals may have been sent to; 0 for an import that was never committed. */
  readonly ordinals: number;
  /** Digest of the campaign's idempotency key, if it has one. */
  readonly idempotency: string | undefined;
  /** How long before the end of its retention it is deleted, ms. Until then it stays in the lane's `ended` set, a repeated request does not send it again, and the ids of its requests are known. */
  readonly earlyByMs?: number | undefined;
}

/**
 * Deletes everything that Redis stores of a campaign. The entry in the index goes first, so that no reader finds half a
 * campaign. The entries in the lane's sorted sets go last: they bring the sweep back if the deletion is interrupted.
 * Repeating it is harmless.
 */
export async function deleteCampaign(redis: Redis, keys: Keys, deleted: DeletedCampaign): Promise<void> {
  const { lane, campaign, ordinals, idempotency, earlyByMs = 0 } = deleted;
  await redis.zrem(keys.campaigns, `${campaign} ${lane}`);
  if (idempotency !== undefined)
    await releaseReservation(redis, keys.idempotency(idempotency), { campaign, lane }, earlyByMs);
  for (let first = 0; first < ordinals; first += KEYS_PER_COMMAND * RECORDS_PER_HASH) {
    const hashes = Math.min(KEYS_PER_COMMAND, Math.ceil((ordinals - first) / RECORDS_PER_HASH));
    const names = Array.from({ length: hashes }, (_, at) =>
      recordsKey(keys, lane, campaign, first + at * RECORDS_PER_HASH),
    );
    await redis.unlink(...names);
  }
  const left = [
    statusesKey(keys, lane, campaign),
    ...SERIES.map((series) => slicesKey(keys, lane, campaign, series)),
    metaKey(keys, lane, campaign),
    costsKey(keys, lane, campaign),
    zonesKey(keys, lane, campaign),
    progressKey(keys, lane, campaign),
  ];
  const filter = acceptedKey(keys, lane, campaign);
  if (earlyByMs > 0) await keepFilter(redis, filter, ordinals, earlyByMs);
  else left.push(filter);
  // Of an import that was refused at once, only its text was stored. Noted first: a process may die in between.
  if (ordinals > 0 || (await redis.exists(...left)) > 1) await noteRemoval(redis, keys);
  await redis.unlink(...left);
  await forgetScript.run(
    redis,
    { states: keys.lane(lane, 'states'), keyBytes: keys.lane(lane, 'keyBytes') },
    { id: campaign },
  );
  for (const set of CAMPAIGN_SETS)
    if (set !== 'ended' || earlyByMs === 0) await redis.zrem(keys.lane(lane, set), campaign);
}

/** Whether a campaign that does not exist any more was deleted before the end of its retention. */
export async function wasDeleted(redis: Redis, keys: Keys, lane: LaneId, campaign: string): Promise<boolean> {
  return (await redis.zscore(keys.lane(lane, 'ended'), campaign)) !== null;
}

/** Removes a campaign's requests from the index of requests, on a lane that receives notifications. */
export async function deleteIndexedRequests(
  redis: Redis,
  keys: Keys,
  { lane, campaign, ordinals }: Pick<DeletedCampaign, 'lane' | 'campaign' | 'ordinals'>,
): Promise<void> {
  if ((await redis.exists(acceptedKey(keys, lane, campaign))) === 0) return;
  for (let first = 0; first < ordinals; first += RECORDS_PER_HASH) {
    const { requests } = parseRecords(await redis.hgetall(recordsKey(keys, lane, campaign, first)));
    const digests = [...requests.values()].map(({ requestId }) => digestOf(requestId));
    await Promise.all(digests.map((digest) => redis.hdel(indexKey(keys, lane, digest), digest.field)));
  }
}
