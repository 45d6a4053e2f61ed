import { z } from 'zod';
import { indexMember, readMeta, readState } from '../lane/campaigns.js';
import {
  acceptedKey,
  metaKey,
  RECORDS_IN_A_HASH,
  recordsKey,
  slicesKey,
  statusesKey,
} from '../recipients/campaign-keys.js';
import { parseRecord } from '../recipients/records.js';
import { digestOf, indexKey } from '../recipients/request-index.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';
import { freeKey, reservationOf } from './reservations.js';

/** Keys in one command: a campaign of a million has 8,000 hashes of records. */
const AT_ONCE = 500;

/** The sorted sets of a lane that a campaign can stand in. */
const QUEUES = ['running', 'scheduled', 'lapsing', 'importing', 'ended'] as const;

const dropScript = loadScript(import.meta.url, './drop-import.lua', (reply) =>
  z.enum(['dropped', 'alive', 'committed']).parse(reply),
);

/**
 * Removes all data of a campaign that has ended, or of an import whose importer is dead; anything else is left alone.
 * The index goes first, so that nobody finds half a campaign; what makes the sweep come back goes last, so that a
 * removal that broke off is taken up again. Repeating it is harmless.
 */
export async function removeCampaign(
  redis: Redis,
  keys: Keys,
  lane: string,
  campaign: string,
): Promise<void> {
  const state = await readState(redis, keys, lane, campaign);
  if (state === null || state.s === 'importing') {
    await discardImport(redis, keys, lane, campaign);
    return;
  }
  if (state.ended === 0) return;
  // Of what is unconfirmed a notification may still come, so it is still looked up; all else went when it was settled.
  if ((state.n.unconfirmed ?? 0) > 0) await forgetRequests(redis, keys, lane, campaign, state.end);
  await removeData(redis, keys, lane, campaign, state.end);
  await redis.hdel(keys.lane(lane, 'states'), campaign);
  for (const queue of QUEUES) await redis.zrem(keys.lane(lane, queue), campaign);
}

/**
 * Discards an import whose importer is dead, with its idempotency key. False, and nothing happens, if it is alive or
 * was committed.
 */
export async function discardImport(
  redis: Redis,
  keys: Keys,
  lane: string,
  campaign: string,
): Promise<boolean> {
  return dropImport(redis, keys, lane, campaign, 'dead');
}

/** `own`: by the importer itself, whatever the lease. First it is made impossible to commit, then its data goes. */
export async function dropImport(
  redis: Redis,
  keys: Keys,
  lane: string,
  campaign: string,
  which: 'own' | 'dead',
): Promise<boolean> {
  const scriptKeys = ['states', 'importing'].map((name) => keys.lane(lane, name));
  const found = await dropScript.run(redis, scriptKeys, [campaign, which === 'own' ? 1 : 0, '']);
  if (found !== 'dropped') return false;
  await removeData(redis, keys, lane, campaign, 0);
  for (const queue of QUEUES) await redis.zrem(keys.lane(lane, queue), campaign);
  return true;
}

/** Everything but what makes the sweep come back. `end`: number of ordinals that may have been sent to. */
async function removeData(
  redis: Redis,
  keys: Keys,
  lane: string,
  campaign: string,
  end: number,
): Promise<void> {
  await redis.zrem(keys.campaigns, indexMember(lane, campaign));
  const meta = await readMeta(redis, keys, lane, campaign);
  const owner = reservationOf({ lane, campaign });
  if (meta?.idempotency !== undefined) await freeKey(redis, keys.idempotency(meta.idempotency), owner);
  for (let first = 0; first < end; first += AT_ONCE * RECORDS_IN_A_HASH) {
    const hashes = Math.min(AT_ONCE, Math.ceil((end - first) / RECORDS_IN_A_HASH));
    const names = Array.from({ length: hashes }, (_, at) =>
      recordsKey(keys, lane, campaign, first + at * RECORDS_IN_A_HASH),
    );
    await redis.unlink(...names);
  }
  await redis.unlink(
    statusesKey(keys, lane, campaign),
    slicesKey(keys, lane, campaign, 'slices'),
    slicesKey(keys, lane, campaign, 'suppressed'),
    metaKey(keys, lane, campaign),
    acceptedKey(keys, lane, campaign),
  );
}

/** Takes a campaign's requests out of the index, on a lane that has notifications. */
async function forgetRequests(
  redis: Redis,
  keys: Keys,
  lane: string,
  campaign: string,
  end: number,
): Promise<void> {
  if ((await redis.exists(acceptedKey(keys, lane, campaign))) === 0) return;
  for (let first = 0; first < end; first += RECORDS_IN_A_HASH) {
    const records = await redis.hvals(recordsKey(keys, lane, campaign, first));
    const digests = records.map((text) => digestOf(parseRecord(text).requestId));
    await Promise.all(digests.map((digest) => redis.hdel(indexKey(keys, lane, digest), digest.field)));
  }
}
