import type { Redis } from '../../../base/redis/connection.js';
import type { Keys, LaneId } from '../../../base/redis/keys.js';
import { outboxKeys } from '../../../engine/recipients/outbox-messages.js';
import { entryOf, indexEntries, type Named, partsOf } from '../../../engine/store/lane-index.js';

/*
 * Which lanes have an outbox of a name. An entry is written before its outbox, so an entry without one is left by a process that died in
 * between.
 */

/** Adds an outbox to the index. */
export async function indexOutbox(redis: Redis, keys: Keys, lane: LaneId, name: string): Promise<void> {
  await redis.zadd(keys.outboxes, 0, entryOf(name, lane));
}

/**
 * Removes an outbox from the index, after it was deleted. One of the same name that another process has created meanwhile stays in it: that
 * process adds it after it has created it, and this one looks after it has removed it.
 */
export async function unindexOutbox(redis: Redis, keys: Keys, lane: LaneId, name: string): Promise<void> {
  await redis.zrem(keys.outboxes, entryOf(name, lane));
  if ((await redis.exists(outboxKeys(keys, lane, name).fixed.outbox)) === 1)
    await indexOutbox(redis, keys, lane, name);
}

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
): Promise<{ readonly outboxes: readonly Named[]; readonly next: string | null }> {
  const outboxes: (Named & { readonly entry: string })[] = [];
  let read = 0;
  for await (const found of indexEntries(redis, keys.outboxes, { after })) {
    if (lanes?.includes(found.lane) ?? true) {
      if (outboxes.length === count) return { outboxes, next: outboxes.at(-1)?.entry ?? null };
      outboxes.push(found);
    }
    read += 1;
    if (read === ENTRIES_PER_PAGE) return { outboxes, next: found.entry };
  }
  return { outboxes, next: null };
}

/** All outboxes by name, and those of one name by the id of their lane. */
export async function indexedOutboxes(redis: Redis, keys: Keys): Promise<Named[]> {
  const entries = await redis.zrange(keys.outboxes, '0', '-1');
  return entries.map(partsOf);
}
