/**
 * The list of a campaign in plain Redis, for the libraries that only limit: the reliable queue of
 * https://redis.io/docs/latest/commands/lmove/ (a number is in the waiting list or in the list of the worker that has it), and
 * a hash per worker with the accepted requests that are not final.
 */
import type { Redis } from '../../src/base/redis/connection.js';

const TODO = 'todo';

/** Stores the numbers before any worker runs. */
export async function fillList(redis: Redis, numbers: readonly string[]): Promise<void> {
  await redis.rpush(TODO, ...numbers);
}

export interface ListInRedis {
  /**
   * Call it first: it puts the numbers that this worker had taken when it ended back into the list, because their outcome is
   * unknown, and returns the ids of its requests that are not final.
   */
  recover(): Promise<string[]>;
  /** The next number, or null if there is none. */
  next(): Promise<string | null>;
  accepted(to: string, requestId: string): Promise<void>;
  final(requestId: string): Promise<void>;
}

export function listInRedis(redis: Redis, worker: number): ListInRedis {
  const doing = `doing:${worker}`;
  const open = `open:${worker}`;
  return {
    async recover() {
      while ((await redis.lmove(doing, TODO, 'RIGHT', 'LEFT')) !== null);
      return redis.hkeys(open);
    },
    next: () => redis.lmove(TODO, doing, 'LEFT', 'RIGHT'),
    async accepted(to, requestId) {
      await redis.multi().hset(open, requestId, to).lrem(doing, 1, to).exec();
    },
    async final(requestId) {
      await redis.hdel(open, requestId);
    },
  };
}
