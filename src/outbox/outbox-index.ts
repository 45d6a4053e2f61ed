import type { Redis } from '../redis/connection.js';
import type { Keys, LaneId } from '../redis/keys.js';

/*
 * Which lanes have an outbox of a name: a name is unique within its lane only, so that tenants neither see nor block the names of others. An
 * entry is written before its outbox, so an entry without one is left by a process that died in between.
 */

/** An outbox of a lane. */
export interface IndexedOutbox {
  readonly name: string;
  readonly lane: LaneId;
}

/** Names of outboxes and ids of lanes contain no space, so entries sort by name. */
const entryOf = (lane: LaneId, name: string): string => `${name} ${lane}`;

/** Adds an outbox to the index. */
export async function indexOutbox(redis: Redis, keys: Keys, lane: LaneId, name: string): Promise<void> {
  await redis.zadd(keys.outboxes, 0, entryOf(lane, name));
}

/** The ids of the lanes that have an outbox of this name. */
export async function lanesWithOutbox(redis: Redis, keys: Keys, name: string): Promise<LaneId[]> {
  // The character after the space is the exclamation mark.
  const entries = await redis.zrangebylex(keys.outboxes, `[${name} `, `(${name}!`);
  return entries.map((entry) => entry.slice(name.length + 1));
}

/** All outboxes by name, and those of one name by the id of their lane. */
export async function indexedOutboxes(redis: Redis, keys: Keys): Promise<IndexedOutbox[]> {
  const entries = await redis.zrange(keys.outboxes, '0', '-1');
  return entries.map((entry) => {
    const space = entry.indexOf(' ');
    return { name: entry.slice(0, space), lane: entry.slice(space + 1) };
  });
}
