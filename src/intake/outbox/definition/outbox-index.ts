import type { Redis } from '../../../base/redis/connection.js';
import type { Keys, LaneId } from '../../../base/redis/keys.js';
import { outboxKeys } from '../../../engine/recipients/outbox-messages.js';

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

/**
 * Removes an outbox from the index, after it was deleted. One of the same name that another process has created meanwhile stays in it: that
 * process adds it after it has created it, and this one looks after it has removed it.
 */
export async function unindexOutbox(redis: Redis, keys: Keys, lane: LaneId, name: string): Promise<void> {
  await redis.zrem(keys.outboxes, entryOf(lane, name));
  if ((await redis.exists(outboxKeys(keys, lane, name).fixed.outbox)) === 1)
    await indexOutbox(redis, keys, lane, name);
}

/** The ids of the lanes that have an outbox of this name. */
export async function lanesWithOutbox(redis: Redis, keys: Keys, name: string): Promise<LaneId[]> {
  // The character after the space is the exclamation mark.
  const entries = await redis.zrangebylex(keys.outboxes, `[${name} `, `(${name}!`);
  return entries.map((entry) => entry.slice(name.length + 1));
}

/** Entries of the index that are read at a time. */
const ENTRIES_AT_ONCE = 500;
/** Entries that are read for a page: an index of a hundred thousand outboxes of other lanes takes several. */
const ENTRIES_PER_PAGE = 10_000;

/**
 * At most `count` outboxes by name, of all lanes or of these, after the one at a position. `next` is the position of the last one, or of the
 * last entry that was read; null if no entry follows. So a page may be short before the last one.
 */
export async function pageOfOutboxes(
  redis: Redis,
  keys: Keys,
  {
    lanes,
    after,
    count,
  }: { lanes?: readonly LaneId[] | undefined; after?: string | undefined; count: number },
): Promise<{ readonly outboxes: readonly IndexedOutbox[]; readonly next: string | null }> {
  const matching: string[] = [];
  let last = after;
  for (let read = 0; read < ENTRIES_PER_PAGE; read += ENTRIES_AT_ONCE) {
    const start = last === undefined ? '-' : `(${last}`;
    const entries = await redis.zrangebylex(keys.outboxes, start, '+', 'LIMIT', 0, ENTRIES_AT_ONCE);
    matching.push(...entries.filter((entry) => lanes?.includes(outboxOf(entry).lane) ?? true));
    if (matching.length > count) {
      const page = matching.slice(0, count);
      return { outboxes: page.map(outboxOf), next: page.at(-1) ?? null };
    }
    if (entries.length < ENTRIES_AT_ONCE) return { outboxes: matching.map(outboxOf), next: null };
    last = entries.at(-1);
  }
  return { outboxes: matching.map(outboxOf), next: last ?? null };
}

/** All outboxes by name, and those of one name by the id of their lane. */
export async function indexedOutboxes(redis: Redis, keys: Keys): Promise<IndexedOutbox[]> {
  const entries = await redis.zrange(keys.outboxes, '0', '-1');
  return entries.map(outboxOf);
}

function outboxOf(entry: string): IndexedOutbox {
  const space = entry.indexOf(' ');
  return { name: entry.slice(0, space), lane: entry.slice(space + 1) };
}
