import { z } from 'zod';
import type { Redis } from '../base/redis/connection.js';
import { joinCalls } from '../base/redis/join-calls.js';
import type { Keys } from '../base/redis/keys.js';
import { loadScript } from '../base/redis/script.js';

/** Events that Redis keeps at least: days of a quiet installation, hours of a busy one; about 150 bytes each. */
const MIN_KEPT = 10_000;

/** Events that `next` returns at most. If it returns fewer, there are no more. */
export const MAX_NEXT = 1_000;

/** An event in the log. Redis assigns the `id`: a time in ms and a counter, always increasing. */
export interface LoggedEvent {
  readonly id: string;
  readonly json: string;
}

/** An id before that of the first event. */
const BEFORE_ALL = '0-0';

const entries = z.array(z.tuple([z.string(), z.tuple([z.literal('e'), z.string()])]));
const appendScript = loadScript(import.meta.url, './append-events.lua', () => undefined);

const parse = (reply: unknown): LoggedEvent[] => entries.parse(reply).map(([id, [, json]]) => ({ id, json }));

/** The recent events of all processes, in order: a Redis stream that is trimmed at its start. */
export function eventLog(redis: Redis, keys: Keys) {
  const key = keys.events;
  const append = joinCalls((events: readonly string[]) =>
    appendScript.run(redis, { events: key }, { kept: MIN_KEPT }, [], events),
  );
  return {
    append: (json: string): Promise<void> => append(json).answer,

    /** The first events after `id`, at most `count`. */
    after: async (id: string, count: number): Promise<LoggedEvent[]> =>
      parse(await redis.xrange(key, `(${id}`, '+', 'COUNT', count)),

    /** The id of the newest event; {@link BEFORE_ALL} if there is none. */
    async last(): Promise<string> {
      const [newest] = parse(await redis.xrevrange(key, '+', '-', 'COUNT', 1));
      return newest?.id ?? BEFORE_ALL;
    },

    /**
     * Whether the log may lack events after `id`, because it was trimmed or Redis lost data. If the event with this id
     * is in the log, so are all events after it.
     */
    async mayLackEventsAfter(id: string): Promise<boolean> {
      const [[own], [oldest], length] = await Promise.all([
        redis.xrange(key, id, id, 'COUNT', 1).then(parse),
        redis.xrange(key, '-', '+', 'COUNT', 1).then(parse),
        redis.xlen(key),
      ]);
      if (own !== undefined) return false;
      // No event has the id BEFORE_ALL, but a log that was never trimmed has all events after it.
      return id !== BEFORE_ALL || (length >= MIN_KEPT && oldest !== undefined);
    },

    /** Waits for events after `id`; empty if there are none within `waitMs`. Needs a connection of its own. */
    async next(blocking: Redis, id: string, waitMs: number): Promise<LoggedEvent[]> {
      const reply = await blocking.xread('COUNT', MAX_NEXT, 'BLOCK', waitMs, 'STREAMS', key, id);
      return reply === null ? [] : reply.flatMap(([, found]) => parse(found));
    },
  };
}

/** See {@link eventLog}. */
export type EventLog = ReturnType<typeof eventLog>;

/** The format of an event id. */
export const EVENT_ID = /^\d{1,15}-\d{1,10}$/;

/** Whether `id` is later than `other`. */
export function isAfter(id: string, other: string): boolean {
  const [ms = 0, count = 0] = id.split('-').map(Number);
  const [otherMs = 0, otherCount = 0] = other.split('-').map(Number);
  return ms > otherMs || (ms === otherMs && count > otherCount);
}
