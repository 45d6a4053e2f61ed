import { z } from 'zod';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';

/** Events kept at least: days of a quiet installation, hours of a busy one; some 150 bytes each. */
const KEPT = 10_000;

/** Events that {@link eventLog} gives at a time to who waits for them; fewer are all there are. */
export const NEXT_AT_MOST = 1_000;

/** Something that happened. `id` is Redis's own: a time in ms and a count, ever growing. */
export interface LoggedEvent {
  readonly id: string;
  readonly json: string;
}

/** The id of what was before the first event. */
const BEFORE_ALL = '0-0';

const entries = z.array(z.tuple([z.string(), z.tuple([z.literal('e'), z.string()])]));
const read = (reply: unknown): LoggedEvent[] => entries.parse(reply).map(([id, [, json]]) => ({ id, json }));

/** What happened lately, in order, for whoever was not there: a stream that is cut off at its beginning. */
export function eventLog(redis: Redis, keys: Keys) {
  const key = keys.events;
  return {
    async append(json: string): Promise<void> {
      await redis.xadd(key, 'MAXLEN', '~', KEPT, '*', 'e', json);
    },
    /** At most `count` that came after `id`. */
    after: async (id: string, count: number): Promise<LoggedEvent[]> =>
      read(await redis.xrange(key, `(${id}`, '+', 'COUNT', count)),
    /** The id of the newest; {@link BEFORE_ALL} if there is none. */
    async last(): Promise<string> {
      const [newest] = read(await redis.xrevrange(key, '+', '-', 'COUNT', 1));
      return newest?.id ?? BEFORE_ALL;
    },
    /**
     * Whether something that came after `id` may not be kept any more: it was cut off, or Redis forgot. Where the event
     * itself is kept, so is what came after it.
     */
    async hasForgotten(id: string): Promise<boolean> {
      const [[own], [oldest], length] = await Promise.all([
        redis.xrange(key, id, id, 'COUNT', 1).then(read),
        redis.xrange(key, '-', '+', 'COUNT', 1).then(read),
        redis.xlen(key),
      ]);
      if (own !== undefined) return false;
      // Before the first event there is none; a log that has never been cut off still has all that came after that.
      return id !== BEFORE_ALL || (length >= KEPT && oldest !== undefined);
    },
    /** What comes after `id`, as soon as there is any; empty if there is none for `waitMs`. On a connection of its own. */
    async next(blocking: Redis, id: string, waitMs: number): Promise<LoggedEvent[]> {
      const reply = await blocking.xread('COUNT', NEXT_AT_MOST, 'BLOCK', waitMs, 'STREAMS', key, id);
      return reply === null ? [] : reply.flatMap(([, found]) => read(found));
    },
  };
}

/** See {@link eventLog}. */
export type EventLog = ReturnType<typeof eventLog>;

/** The form of an id. */
export const EVENT_ID = /^\d{1,15}-\d{1,10}$/;

/** Whether an id is later than another. */
export function isAfter(id: string, other: string): boolean {
  const [ms = 0, count = 0] = id.split('-').map(Number);
  const [otherMs = 0, otherCount = 0] = other.split('-').map(Number);
  return ms > otherMs || (ms === otherMs && count > otherCount);
}
