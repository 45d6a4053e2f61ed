import type { Redis } from '../../base/redis/connection.js';
import type { LaneId } from '../../base/redis/keys.js';
import { AmbiguousNameError } from '../../campaign/errors/errors.js';

/*
 * Which lanes have a campaign, an outbox, or a schedule of a name: a sorted set of each kind, in which every entry has the score 0, so they
 * sort by name. The names of outboxes and schedules are unique within a lane only, so that tenants neither see nor block the names of others.
 */

/** Entries that are read at a time. */
const READ_AT_ONCE = 200;

/** Something of a lane, by its name. */
export interface Named {
  readonly name: string;
  readonly lane: LaneId;
}

/** The entry of something. Neither a name nor the id of a lane contains a space. */
export const entryOf = (name: string, lane: LaneId): string => `${name} ${lane}`;

/** What an entry stands for. */
export function partsOf(entry: string): Named {
  const [name = ''] = entry.split(' ', 1);
  return { name, lane: entry.slice(name.length + 1) };
}

/** The ids of the lanes that have something of this name. */
export async function lanesOf(redis: Redis, index: string, name: string): Promise<LaneId[]> {
  // The character after the space is the exclamation mark.
  const entries = await redis.zrangebylex(index, `[${name} `, `(${name}!`);
  return entries.map((entry) => partsOf(entry).lane);
}

/** The entries by name, or in the opposite order: those after one text and before another. One that changes meanwhile may be missing. */
export async function* indexEntries(
  redis: Redis,
  index: string,
  range: {
    readonly after?: string | undefined;
    readonly before?: string | undefined;
    readonly isReversed?: boolean;
  } = {},
): AsyncGenerator<Named & { readonly entry: string }> {
  let { after, before } = range;
  for (let count = READ_AT_ONCE; count === READ_AT_ONCE; ) {
    const [from, to] = [after === undefined ? '-' : `(${after}`, before === undefined ? '+' : `(${before}`];
    const entries = range.isReversed
      ? await redis.zrevrangebylex(index, to, from, 'LIMIT', 0, READ_AT_ONCE)
      : await redis.zrangebylex(index, from, to, 'LIMIT', 0, READ_AT_ONCE);
    for (const entry of entries) yield { entry, ...partsOf(entry) };
    if (range.isReversed) before = entries.at(-1);
    else after = entries.at(-1);
    count = entries.length;
  }
}

/**
 * The one of these lanes, which all have something of the same name; undefined if there is no lane. Rejects with an AmbiguousNameError if
 * there are several.
 */
export async function onlyLane(
  what: 'outbox' | 'schedule',
  name: string,
  lanes: readonly LaneId[],
  nameOf: (lane: LaneId) => Promise<string>,
): Promise<LaneId | undefined> {
  if (lanes.length < 2) return lanes[0];
  throw new AmbiguousNameError(what, name, (await Promise.all(lanes.map(nameOf))).sort());
}
