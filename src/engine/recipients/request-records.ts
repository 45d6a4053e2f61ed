import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import type { RecipientState, StatusWord } from '../../campaign/states/recipient.js';
import { recordsKey } from './campaign-keys.js';
import { parseStatusWord } from './status-words.js';

/** The record of the request that a batch was sent with. Times in ms. */
export interface RequestRecord {
  /** Recipients of the batch. */
  readonly count: number;
  readonly sentAt: number;
  readonly updatedAt: number;
  readonly reason: string;
  /** The service's id of the request; empty while it is not known. */
  readonly requestId: string;
  /** The revision of the content with which it was sent. */
  readonly edition: number;
}

/** Reads `count:edition,sentAt,updatedAt-sentAt,reason,requestId`, the form that the scripts write; edition 0 is left out. */
export function parseRecord(text: string): RequestRecord {
  const [, count, edition, sentAt, delta, reason, requestId] =
    /^(\d+)(?::(\d+))?,(\d+),(\d+),([^,]*),(.*)$/s.exec(text) ?? [];
  if (count === undefined || requestId === undefined) throw new Error(`not the record of a request: ${text}`);
  return {
    count: Number(count),
    sentAt: Number(sentAt),
    updatedAt: Number(sentAt) + Number(delta),
    reason: reason ?? '',
    requestId,
    edition: Number(edition ?? 0),
  };
}

/** How reasons begin that explain why a recipient has no final status (send.ts, settle-poll.lua). Its report may come later. */
const NO_REPORT = /^(accepted without a request id|no final report by the deadline|not known to the service)/;

/** The reason of a request, if it explains this state of a recipient; otherwise ''. */
export const reasonFor = (state: RecipientState, reason: string): string =>
  state !== 'unconfirmed' && NO_REPORT.test(reason) ? '' : reason;

/** What a hash of records holds (request-records.lua). */
export interface StoredRecords {
  /** By the first ordinal of their batch. */
  readonly requests: ReadonlyMap<number, RequestRecord>;
  /** The service's own words for delivery statuses, by the ordinal of the recipient. */
  readonly words: ReadonlyMap<number, StatusWord>;
}

/** Reads all fields of hashes of records. */
export function parseRecords(fields: Readonly<Record<string, string>>): StoredRecords {
  const requests = new Map<number, RequestRecord>();
  const words = new Map<number, StatusWord>();
  for (const [field, text] of Object.entries(fields)) {
    if (field.startsWith('w')) words.set(Number(field.slice(1)), parseStatusWord(text));
    else requests.set(Number(field), parseRecord(text));
  }
  return { requests, words };
}

/** Reads the record of the batch that begins at `first`; null if it has none. */
export async function readRecord(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  campaign: string,
  first: number,
): Promise<RequestRecord | null> {
  const text = await redis.hget(recordsKey(keys, lane, campaign, first), String(first));
  return text === null ? null : parseRecord(text);
}
