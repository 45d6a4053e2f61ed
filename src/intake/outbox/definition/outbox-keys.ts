import type { Keys, LaneId } from '../../../base/redis/keys.js';

/*
 * The names of an outbox's keys, all under its lane's hash tag. The lane's sorted set `outboxes` says when each outbox next has
 * something to do.
 */

/** The keys of an outbox. */
export function outboxKeys(keys: Keys, lane: LaneId, name: string) {
  const keyOf = (part: string): string => keys.lane(lane, `outbox:${name}${part}`);
  return {
    /** Those that every script finds by their names. */
    fixed: {
      outboxes: keys.lane(lane, 'outboxes'),
      /** Hash: settings, state, and counts. */
      outbox: keyOf(''),
      /** Hash: id → message; see stored-message.ts. */
      messages: keyOf(':messages'),
      /** Sorted set: id → when the message is next due, s: to be sent, or, as a negative number, to be forgotten; see message.lua. */
      due: keyOf(':due'),
      /** Sorted set: wave → when it began, ms. */
      waves: keyOf(':waves'),
    },
    /** List: ids of messages that ended while they waited, and are forgotten in this second: the log of results names their places. */
    endedList: (second: number): string => keyOf(`:ended:${second}`),
  };
}

/** See {@link outboxKeys}. */
export type OutboxKeys = ReturnType<typeof outboxKeys>;
