import { LRUCache } from 'lru-cache';
import type { LaneId } from '../../base/redis/keys.js';
import { DamagedError } from '../recipients/damaged.js';
import type { Located } from '../recipients/request-index.js';
import type { OrdinalNumbers } from '../recipients/slices.js';
import type { NotifiedLane } from './notified-lane.js';

/**
 * The numbers of a batch, as digits, in the order of the list. Null if there is no such batch: the digest is that of another id,
 * the campaign has been removed, or the correlator was not ours after all.
 */
export type BatchNumbers = (located: Located) => Promise<readonly string[] | null>;

/** Reads the numbers of a lane's batches; once `signal` fires, it stops waiting for Redis. */
export function batchNumbers(
  lane: Pick<NotifiedLane, 'id' | 'retry'>,
  numbers: OrdinalNumbers,
  signal: AbortSignal,
): BatchNumbers {
  return async (located) => {
    const read = () => numbers(lane.id, located);
    try {
      // Nearly always in the cache, so the retries of `answered` are set up only when a read fails.
      const ofBatch = await read().catch((error: unknown) => {
        if (error instanceof DamagedError) throw error;
        return lane.retry(read, signal);
      });
      return ofBatch.map(String);
    } catch (error) {
      if (error instanceof DamagedError) return null;
      throw error;
    }
  };
}

/** Reads our own correlator, `campaign-first-count`, as `messages.ts` writes it; null for any other text. */
export function batchOfCorrelator(correlator: string | null): Located | null {
  const [, campaign, first, count] = /^([0-9a-z]+)-(\d{1,9})-(\d{1,4})$/.exec(correlator ?? '') ?? [];
  return campaign === undefined ? null : { campaign, first: Number(first), count: Number(count) };
}

/** Reads what any correlator of ours names: the campaign, or the id of the outbox, and the first ordinal, or the number of the message. */
export function namedByCorrelator(
  correlator: string | null,
): { readonly owner: string; readonly first: number } | null {
  const [, owner, first] = /^([0-9a-z]+)-(\d{1,15})(?:-\d{1,4})?$/.exec(correlator ?? '') ?? [];
  return owner === undefined ? null : { owner, first: Number(first) };
}

/**
 * The batches of the requests that were settled last: a late or repeated report of one of them needs no lookup in Redis.
 * Remembers at most `max` requests, over all lanes; the one added first is forgotten first.
 */
export function recentlySettled(max: number) {
  const batches = new LRUCache<string, Located>({ max });
  return {
    // A lookup does not make a request more recent.
    find: (lane: LaneId, requestId: string): Located | undefined => batches.peek(`${lane} ${requestId}`),
    add(lane: LaneId, requestId: string, located: Located): void {
      batches.set(`${lane} ${requestId}`, located);
    },
  };
}

/** See {@link recentlySettled}. */
export type RecentlySettled = ReturnType<typeof recentlySettled>;
