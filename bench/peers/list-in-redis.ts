/**
 * The list of a campaign for the libraries that limit and keep nothing, in plain Redis: the reliable queue of
 * https://redis.io/docs/latest/commands/lmove/ (a number waits in one list, or is in the list of the worker that has it), and
 * for each worker a hash of what was accepted and is not final.
 */
import type { Redis } from '../../src/redis/connection.js';

const TODO = 'todo';

/** Puts the numbers of a list there, before any worker runs. */
export async function fillList(redis: Redis, numbers: readonly string[]): Promise<void> {
  await redis.rpush(TODO, ...numbers);
}

export interface ListInRedis {
  /**
   * To begin with: what this worker had taken when it ended is put back to be sent, because nobody knows more of it; answers
   * the ids of the requests that it had yet to ask about.
   */
  takeUp(): Promise<string[]>;
  /** The next number, or null if there is none. */
  next(): Promise<string | null>;
  accepted(to: string, requestId: string): Promise<void>;
  final(requestId: string): Promise<void>;
}

export function listInRedis(redis: Redis, worker: number): ListInRedis {
  const doing = `doing:${worker}`;
  const open = `open:${worker}`;
  return {
    async takeUp() {
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
