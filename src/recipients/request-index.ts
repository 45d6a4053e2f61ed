import { createHash } from 'node:crypto';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';

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
export function indexKey(keys: Keys, lane: string, { bucket }: RequestDigest): string {
  return keys.lane(lane, `requests:${bucket}`);
}

/** Parses `campaign:first` or `campaign:first:count`; null for anything else. */
export function parseLocated(text: string | null): Located | null {
  const [, campaign, first, count = '1'] = /^([^:]+):(\d+)(?::(\d+))?$/.exec(text ?? '') ?? [];
  return campaign === undefined ? null : { campaign, first: Number(first), count: Number(count) };
}

/** The batch of each request; null if its id is not known, or no report can change anything of it any more. */
export async function locateRequests(
  redis: Redis,
  keys: Keys,
  lane: string,
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
