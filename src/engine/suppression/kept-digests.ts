import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { openNumberDigests } from './number-digests.js';

/*
 * Numbers that were forgotten and stay suppressed, on all lanes or on one: a hash from a keyed digest, followed by the id of its lane if it is
 * for one, to when it was forgotten, ms.
 */

const fieldOf = (digest: Buffer, list: LaneId | null): Buffer =>
  list === null ? digest : Buffer.concat([digest, Buffer.from(list)]);

/** Opens them. Lists are ids of lanes, or null for all lanes. */
export function keptDigests(redis: Redis, keys: Keys) {
  const target = keys.suppression.digests;
  let opening: ReturnType<typeof openNumberDigests> | undefined;
  const digestsOf = async (numbers: readonly string[]): Promise<Buffer[]> => {
    opening ??= openNumberDigests(redis, keys);
    opening.catch(() => {
      opening = undefined;
    });
    return numbers.map(await opening);
  };
  const areAny = async (): Promise<boolean> => (await redis.exists(target)) === 1;
  /** Since when each of these numbers is kept on one of the lists, ms; null if it is not. */
  const since = async (
    numbers: readonly string[],
    lists: readonly (LaneId | null)[],
  ): Promise<(number | null)[]> => {
    const digests = await digestsOf(numbers);
    const fields = lists.flatMap((list) => digests.map((digest) => fieldOf(digest, list)));
    const times = await redis.hmget(target, ...fields);
    return digests.map((_, at) => {
      const found = lists.flatMap((_list, place) => times[place * digests.length + at] ?? []);
      return found.length === 0 ? null : Math.min(...found.map(Number));
    });
  };
  return {
    areAny,
    since,
    /** Since when one of these numbers is kept on this list, ms; null if none is. */
    async keptSince(numbers: readonly string[], list: LaneId | null): Promise<number | null> {
      const times = (await areAny()) ? await since(numbers, [list]) : [];
      return times.find((at) => at !== null) ?? null;
    },
    /** Has the number of this digest stay suppressed. One that does already keeps its time. */
    keep: (digest: Buffer, list: LaneId | null, at: number): Promise<unknown> =>
      redis.hsetnx(target, fieldOf(digest, list), at),
    /** No longer keeps these numbers on this list. Returns how many it has kept. */
    async drop(numbers: readonly string[], list: LaneId | null): Promise<number> {
      const digests = await digestsOf(numbers);
      return redis.hdel(target, ...digests.map((digest) => fieldOf(digest, list)));
    },
  };
}
