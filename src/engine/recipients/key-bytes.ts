import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId, LaneName } from '../../base/redis/keys.js';
import { KeyFullError } from '../../campaign/errors/errors.js';
import type { Actor } from '../../campaign/states/actor.js';

/*
 * What an API key may store on a lane. The counters, and the rules of who pays for what, are in key-bytes.lua: the scripts that store
 * something charge it, and those that remove it return it. Operators are not limited.
 */

/** Who pays for what is stored, and up to how many bytes. `key`: '' for an operator. */
export interface Payer {
  readonly key: string;
  readonly limit: number;
}

/** What operators store counts for no key. */
export const NO_KEY: Payer = { key: '', limit: 0 };

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

/** The same for a schedule. Redis keeps the schedules of all lanes together and apart from the lanes, so they count on their own. */
export function schedulesFull({ key, limit }: Payer, lane: LaneName, used: number): KeyFullError {
  return new KeyFullError(
    `API key ${key} has no room left for schedules: they use ${megabytes(used)} of ${megabytes(limit)} MB (KEY_MEMORY_MB) on lane ${lane}. Remove schedules; an operator can raise KEY_MEMORY_MB`,
    { used, limit },
  );
}

/** The same for the entries of the audit trail, which is kept apart from the lanes as well. `lane`: null for those that belong to none. */
export function trailFull({ key, limit }: Payer, lane: LaneName | null, used: number): KeyFullError {
  const where = lane === null ? '' : ` on lane ${lane}`;
  return new KeyFullError(
    `API key ${key} has no room left in the audit trail: its entries use ${megabytes(used)} of ${megabytes(limit)} MB (KEY_MEMORY_MB)${where}, so what it does could not be recorded. Entries are removed after AUDIT_RETENTION; an operator can raise KEY_MEMORY_MB`,
    { used, limit },
  );
}
