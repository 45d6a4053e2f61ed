import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId, LaneName } from '../../base/redis/keys.js';
import type { Actor } from '../../campaign/actor.js';
import { KeyFullError } from '../../campaign/errors.js';

/*
 * What an API key may store on a lane. The counters, and the rules of who pays for what, are in key-bytes.lua: the scripts that store
 * something charge it, and those that remove it return it. Operators are not limited.
 */

/** Who pays for what is stored, and up to how many bytes. `key`: '' for an operator. */
export interface Payer {
  readonly key: string;
  readonly limit: number;
}

/** Nobody pays for what operators store. */
export const NOBODY: Payer = { key: '', limit: 0 };

/** Who pays for what an actor stores. `limit`: `KEY_MEMORY_MB` in bytes. */
export const payerOf = (actor: Pick<Actor, 'kind' | 'id'> | undefined, limit: number): Payer => ({
  key: actor?.kind === 'key' ? (actor.id ?? '') : '',
  limit,
});

/** What a key has stored on a lane, in bytes. */
export async function usedBytes(redis: Redis, keys: Keys, lane: LaneId, key: string): Promise<number> {
  return Number((await redis.hget(keys.lane(lane, 'keyBytes'), `used:${key}`)) ?? 0);
}

const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);

/** The error for something that a key cannot store on a lane. `used`: what it has stored, in bytes. */
export function keyFull({ key, limit }: Payer, lane: LaneName | LaneId, used: number): KeyFullError {
  return new KeyFullError(
    `API key ${key} has no room left: it uses ${megabytes(used)} of ${megabytes(limit)} MB (KEY_MEMORY_MB) on lane ${lane}. Campaigns and messages return what they use when they are removed, RETENTION after they end; an operator can raise KEY_MEMORY_MB`,
    { used, limit },
  );
}

/** The same for a schedule: those of all lanes count together. */
export function schedulesFull({ key, limit }: Payer, used: number): KeyFullError {
  return new KeyFullError(
    `API key ${key} has no room left for schedules: they use ${megabytes(used)} of ${megabytes(limit)} MB (KEY_MEMORY_MB). Remove schedules; an operator can raise KEY_MEMORY_MB`,
    { used, limit },
  );
}
