import { createHash } from 'node:crypto';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';

/** The service's id of a request, as request-index.lua keeps it. */
export interface RequestDigest {
  /** Which of the lane's small hashes it is in. */
  readonly bucket: number;
  /** Its field there. */
  readonly field: string;
  /** Two 32-bit numbers from which the places in a campaign's filter follow. */
  readonly hashes: readonly [number, number];
}

/** Where a request lies: its campaign, its first ordinal and its recipients. */
export interface Located {
  readonly campaign: string;
  readonly first: number;
  readonly count: number;
}

/**
 * So many that the 100,000 open requests of a busy lane lie some 100 to a hash, which Redis then stores as a list: about
 * 40 bytes a request, where one large hash takes 90.
 */
export const BUCKETS = 1_024;

/** The digest of an id. Two ids of one digest cost no more than a poll: the record names the id in full. */
export function digestOf(requestId: string): RequestDigest {
  const bytes = createHash('sha256').update(requestId).digest();
  return {
    bucket: bytes.readUInt16BE(0) % BUCKETS,
    field: bytes.subarray(2, 8).toString('base64url'),
    hashes: [bytes.readUInt32BE(8), bytes.readUInt32BE(12)],
  };
}

/** The hash that a digest is in. */
export function indexKey(keys: Keys, lane: string, { bucket }: RequestDigest): string {
  return keys.lane(lane, `requests:${bucket}`);
}

/** Reads `campaign:first` or `campaign:first:count`; null for anything else. */
export function locatedIn(text: string | null): Located | null {
  const [, campaign, first, count = '1'] = /^([^:]+):(\d+)(?::(\d+))?$/.exec(text ?? '') ?? [];
  return campaign === undefined ? null : { campaign, first: Number(first), count: Number(count) };
}

/** Where each of these requests lies; null for one that is not known, or of which nothing is open any more. */
export async function locateRequests(
  redis: Redis,
  keys: Keys,
  lane: string,
  requestIds: readonly string[],
): Promise<(Located | null)[]> {
  if (requestIds.length === 0) return [];
  const asked = redis.pipeline();
  for (const id of requestIds) {
    const digest = digestOf(id);
    asked.hget(indexKey(keys, lane, digest), digest.field);
  }
  const answers = (await asked.exec()) ?? [];
  return requestIds.map((_, at) => {
    const [error, text] = answers[at] ?? [new Error('the server left out an answer')];
    if (error !== null) throw error;
    return locatedIn(typeof text === 'string' ? text : null);
  });
}
