import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { recordsKey } from './campaign-keys.js';

/** What is kept of the request that a batch went out with. Times in ms. */
export interface RequestRecord {
  readonly count: number;
  readonly sentAt: number;
  readonly updatedAt: number;
  readonly reason: string;
  /** Empty while nobody knows one. */
  readonly requestId: string;
}

/** Reads `count,sentAt,updatedAt-sentAt,reason,requestId`, as settle.lua writes it. */
export function parseRecord(text: string): RequestRecord {
  const [, count, sentAt, delta, reason, requestId] = /^(\d+),(\d+),(\d+),([^,]*),(.*)$/s.exec(text) ?? [];
  if (count === undefined || requestId === undefined) throw new Error(`not a request's record: ${text}`);
  return {
    count: Number(count),
    sentAt: Number(sentAt),
    updatedAt: Number(sentAt) + Number(delta),
    reason: reason ?? '',
    requestId,
  };
}

/** The record of the request of a campaign's batch that begins at `first`; null if there is none. */
export async function readRecord(
  redis: Redis,
  keys: Keys,
  lane: string,
  campaign: string,
  first: number,
): Promise<RequestRecord | null> {
  const text = await redis.hget(recordsKey(keys, lane, campaign, first), String(first));
  return text === null ? null : parseRecord(text);
}
