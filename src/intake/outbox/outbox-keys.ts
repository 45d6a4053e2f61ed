import { hash } from 'node:crypto';
import type { Keys, LaneId } from '../../base/redis/keys.js';

/*
 * The names of an outbox's keys, all under its lane's hash tag. The lane's sorted set `outboxes` says when each outbox next has
 * something to do.
 */

/** The keys of an outbox. */
export function outboxKeys(keys: Keys, lane: LaneId, name: string) {
  const own = (part: string): string => keys.lane(lane, `outbox:${name}${part}`);
  return {
    /** Those that every script finds by their names. */
    fixed: {
      outboxes: keys.lane(lane, 'outboxes'),
      /** Hash: settings, state, and counts. */
      outbox: own(''),
      /** Sorted set: hour (`h` and its number), or second with a list of its own → its first second. `0`: due at once. */
      due: own(':due'),
      /** List: ids of messages that were due when they were put; the list of second `0`. */
      dueNow: own(':due:0'),
      /** Sorted set: second → the same; messages that have ended are forgotten in it. */
      forget: own(':forget'),
      /** Sorted set: wave → when it began, ms. */
      waves: own(':waves'),
    },
    /**
     * Hash: second of the hour → ids of messages that are due in it, as long as they are few. A message that was moved is still in the old
     * second.
     */
    dueHour: (hour: number): string => own(`:due:h${hour}`),
    /** List: ids of messages that are due in a second that has many. */
    dueList: (second: number): string => own(`:due:${second}`),
    /** List: ids of messages that are forgotten in a second. */
    forgetList: (second: number): string => own(`:forget:${second}`),
    /** Hash: id → message; see stored-message.ts. */
    bucket: (bucket: number): string => own(`:${bucket}`),
  };
}

/** Messages that are due in the same hour share a hash. */
export const SECONDS_OF_HOUR = 3_600;

/** The hour of a second. */
export const hourOf = (second: number): number => Math.floor(second / SECONDS_OF_HOUR);

/** See {@link outboxKeys}. */
export type OutboxKeys = ReturnType<typeof outboxKeys>;

/**
 * Messages per bucket, on average. At most twice as many, and some by chance, are in the fullest: Redis stores up to 128 in its
 * compact form.
 */
export const MESSAGES_PER_BUCKET = 42;

/** The bucket of an id, of so many buckets. They are split one at a time, in order: linear hashing. */
export function bucketOf(id: string, buckets: number): number {
  const digest = Number.parseInt(hash('sha1', id).slice(0, 12), 16);
  const half = 2 ** (31 - Math.clz32(buckets));
  const place = digest % (2 * half);
  return place < buckets ? place : digest % half;
}

/** The bucket that is split when there are so many. */
export function bucketToSplit(buckets: number): number {
  return buckets - 2 ** (31 - Math.clz32(buckets));
}
