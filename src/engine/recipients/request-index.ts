import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { acceptedKey, RECORDS_PER_HASH, recordsKey } from './campaign-keys.js';
import { readOrNull } from './damaged.js';
import { outboxKeys, outboxName } from './outbox-messages.js';
import { parseRecords } from './request-records.js';

/** A digest of the service's id of a request, as request-index.lua stores it. */
interface RequestDigest {
  /** The bucket of the index that holds it. */
  readonly bucket: number;
  /** Its field there. */
  readonly field: string;
  /** Two 32-bit numbers from which its bits in a campaign's Bloom filter follow. */
  readonly hashes: readonly [number, number];
}

/** The batch of a request: its campaign, the ordinal of its first recipient, and the number of recipients. */
export interface Located {
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
  /** Of an outbox: the id of the message whose number is `first`. */
  readonly message?: string | undefined;
}

/**
 * Buckets of a lane's index. With 100,000 open requests, each holds about 100, and Redis still stores it as a list: about 40
 * bytes per request, where a single large hash takes 90.
 */
export const BUCKETS = 1_024;

/** The digest of an id. If two ids have the same one, a report of the second is not found, and a poll makes up for it. */
export function digestOf(requestId: string): RequestDigest {
  const bytes = createHash('sha256').update(requestId).digest();
  return {
    bucket: bytes.readUInt16BE(0) % BUCKETS,
    field: bytes.subarray(2, 8).toString('base64url'),
    hashes: [bytes.readUInt32BE(8), bytes.readUInt32BE(12)],
  };
}

/** The key of the bucket that holds a digest. */
export function indexKey(keys: Keys, lane: LaneId, { bucket }: RequestDigest): string {
  return keys.lane(lane, `requests:${bucket}`);
}

/** Parses `campaign:first`, `campaign:first:count`, or `outbox:NAME:number:id`; null for anything else. */
export function parseLocated(text: string | null): Located | null {
  const [, outbox, number, message] = /^(outbox:[^:]+):(\d+):(.*)$/s.exec(text ?? '') ?? [];
  if (outbox !== undefined) return { campaign: outbox, first: Number(number), count: 1, message };
  const [, campaign, first, count = '1'] = /^([^:]+):(\d+)(?::(\d+))?$/.exec(text ?? '') ?? [];
  return campaign === undefined ? null : { campaign, first: Number(first), count: Number(count) };
}

/** The batch of each request; null if its id is not known, or no report can change anything of it any more. */
export async function locateRequests(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  requestIds: readonly string[],
): Promise<(Located | null)[]> {
  if (requestIds.length === 0) return [];
  const pipeline = redis.pipeline();
  for (const id of requestIds) {
    const digest = digestOf(id);
    pipeline.hget(indexKey(keys, lane, digest), digest.field);
  }
  const replies = (await pipeline.exec()) ?? [];
  return requestIds.map((_, at) => {
    const [error, text] = replies[at] ?? [new Error('Redis did not answer every command of a pipeline')];
    if (error !== null) throw error;
    return parseLocated(typeof text === 'string' ? text : null);
  });
}

/** As in request-index.lua, which writes the filter. */
const BLOOM_HASHES = 8;
const bitsFor = (ids: number): number => 64 + 24 * ids;
/** Hashes of records, and filters, that are read at a time. */
const READ_AT_ONCE = 100;

/** Of a campaign's state: its ordinals, and of its requests those that were accepted, and how many of these are in its filter. */
const campaignState = z.object({
  ordinals: z.number(),
  requests: z.object({ accepted: z.number().default(0), remembered: z.number().default(0) }).prefault({}),
});

/**
 * Which of these ids the service has ever given to a request of a stored campaign, or of one that was deleted early. The campaigns' Bloom
 * filters say so, and may name an id too many. Where notifications were off, the records are read, one after the other.
 */
export async function everAccepted(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  requestIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const states = await redis.hgetall(keys.lane(lane, 'states'));
  const matches = new Set<string>();
  /** Adds the ids that a filter, which is made for so many, knows. */
  const addMatches = async (filter: string, size: number): Promise<void> => {
    const reads = requestIds.flatMap((id) => {
      const [start, step] = digestOf(id).hashes;
      const places = Array.from({ length: BLOOM_HASHES }, (_, at) => (start + at * step) % bitsFor(size));
      return places.flatMap((place) => ['GET', 'u1', place]);
    });
    const set = z.array(z.number()).parse(await redis.call('BITFIELD_RO', filter, ...reads));
    for (const [at, id] of requestIds.entries())
      if (set.slice(at * BLOOM_HASHES, (at + 1) * BLOOM_HASHES).every((bit) => bit === 1)) matches.add(id);
  };
  for (const [campaign, json] of Object.entries(states)) {
    const state = readOrNull(() => campaignState.parse(JSON.parse(json)));
    if (state === null) continue;
    const { ordinals, requests } = state;
    const outbox = outboxName(campaign);
    if (outbox !== null) {
      const boxKeys = outboxKeys(keys, lane, outbox);
      const fields = Object.entries(await redis.hgetall(boxKeys.fixed.outbox));
      for (const [field, size] of fields) {
        const [, day] = /^accepted:(\d+)$/.exec(field) ?? [];
        if (day !== undefined) await addMatches(boxKeys.accepted(day), Number(size));
      }
      continue;
    }
    await addMatches(acceptedKey(keys, lane, campaign), ordinals);
    if (requests.accepted <= requests.remembered) continue;
    for await (const id of recordedIds(redis, keys, lane, campaign, ordinals))
      if (requestIds.includes(id)) matches.add(id);
  }
  const ended = await redis.zrange(keys.lane(lane, 'ended'), '0', '-1');
  const deleted = ended.filter((campaign) => !Object.hasOwn(states, campaign));
  await pLimit(READ_AT_ONCE).map(deleted, async (campaign) => {
    const filter = acceptedKey(keys, lane, campaign);
    const bits = 8 * (await redis.strlen(filter));
    if (bits > 0) await addMatches(filter, (bits - 64) / 24);
  });
  return matches;
}

/** Keeps the filter of a campaign that is deleted, made for so many ids, for so many ms: a late report must not be matched to another batch. */
export async function keepFilter(redis: Redis, filter: string, size: number, forMs: number): Promise<void> {
  if ((await redis.exists(filter)) === 0) return;
  // As long as it is made for: its length says for how many ids.
  await redis.bitfield(filter, 'INCRBY', 'u1', bitsFor(size) - 1, 0);
  await redis.pexpire(filter, Math.ceil(forMs));
}

async function* recordedIds(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
  end: number,
): AsyncGenerator<string> {
  for (let from = 0; from < end; from += READ_AT_ONCE * RECORDS_PER_HASH) {
    const hashes = Math.min(READ_AT_ONCE, Math.ceil((end - from) / RECORDS_PER_HASH));
    const reads = Array.from({ length: hashes }, (_, at) =>
      redis.hgetall(recordsKey(keys, lane, campaign, from + at * RECORDS_PER_HASH)),
    );
    for (const fields of await Promise.all(reads))
      for (const { requestId } of parseRecords(fields).requests.values()) yield requestId;
  }
}
