import type { Redis } from '../../base/redis/connection.js';
import { type OutboxKeys, SECONDS_OF_HOUR } from './outbox-keys.js';

/*
 * Where the ids of messages are noted by the time at which something is to be done with them. The ids of a second are a field of its
 * hour, as long as they are few; else a list of their own. The set of the hours and lists has the first second of each.
 */

/** Ids with something to do in one second. */
export interface DueList {
  /** The hour, or the second of a list of its own, in the set. */
  readonly member: string;
  /** In seconds since the epoch; 0: at once. */
  readonly second: number;
  /** The hour's or the list's key. */
  readonly key: string;
  /** The set. */
  readonly set: string;
  /** The second in its hour; '' for a list of its own. */
  readonly field: string;
  readonly ids: readonly string[];
}

const FIELDS_AT_ONCE = 64;

/** Reads the ids of an hour or a list, those of the first seconds first: about `most`, and none later than `latest`. */
export async function readDue(
  redis: Redis,
  keys: OutboxKeys,
  member: string,
  latest: number,
  most: number,
): Promise<DueList[]> {
  const set = keys.fixed.due;
  if (!member.startsWith('h')) {
    const second = Number(member);
    const key = keys.dueList(second);
    return [{ member, second, key, set, field: '', ids: await redis.lrange(key, 0, most - 1) }];
  }
  const hour = Number(member.slice(1));
  const key = keys.dueHour(hour);
  const all = await redis.hkeys(key);
  const fields = all
    .map((field) => ({ field, second: hour * SECONDS_OF_HOUR + Number(field) }))
    .filter(({ second }) => second <= latest)
    .sort((a, b) => a.second - b.second);
  const lists: DueList[] = [];
  let left = most;
  for (let from = 0; from < fields.length && left > 0; from += FIELDS_AT_ONCE) {
    const some = fields.slice(from, from + FIELDS_AT_ONCE);
    const packed = await redis.hmgetBuffer(key, ...some.map(({ field }) => field));
    for (const [at, { field, second }] of some.entries()) {
      if (left <= 0) break;
      const raw = packed[at] ?? null;
      if (raw === null) continue;
      const ids = unpackIds(raw).slice(0, left);
      left -= ids.length;
      lists.push({ member, second, key, set, field, ids });
    }
  }
  // Nothing is due although the set says so: a trim corrects it.
  return lists.length > 0 ? lists : [{ member, second: 0, key, set, field: all[0] ?? '', ids: [] }];
}

/** Reads ids, each with its length in a byte before it. */
function unpackIds(packed: Buffer): string[] {
  const ids: string[] = [];
  for (let at = 0; at < packed.length; ) {
    const start = at + 1;
    at = start + (packed[at] ?? 0);
    ids.push(packed.toString('utf8', start, at));
  }
  return ids;
}

/** What to remove from the lists: everything before the first message that is `left`. */
export const trimsOf = (lists: readonly DueList[], left: ReadonlySet<string>): Trim[] =>
  lists.flatMap((list) => {
    const first = list.ids.findIndex((id) => left.has(id));
    const count = first === -1 ? list.ids.length : first;
    return count === 0 && list.ids.length > 0 ? [] : [{ ...list, count }];
  });

/** A list of which the first `count` ids have nothing more to do. */
export interface Trim extends DueList {
  readonly count: number;
}

/** A trim as the scripts take it. */
export const argOf = ({ member, count, field }: Trim): [string, number, string] => [member, count, field];
/** The keys of a trim: its list, and the set. */
export const keysOf = ({ key, set }: Trim): [string, string] => [key, set];
