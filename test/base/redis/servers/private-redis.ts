import { afterAll, inject } from 'vitest';
import { findServer } from '../../../../src/base/redis/find-server.js';
import { type PrivateRedis, startPrivateRedis } from '../../../../src/base/redis/private-server.js';
import { killableContainer } from './killable-container.js';

/** A test file's own Redis, which the test may kill and restart. */
export type KillableRedis = Pick<PrivateRedis, 'url' | 'kill' | 'restart' | 'stop'>;

/**
 * Starts a Redis that has every acknowledged write on disk (`appendfsync always`): a program of this machine, or a container.
 * Call it at a file's top level, with `await`: after the last test the server and its data are removed.
 */
export async function privateRedis(): Promise<KillableRedis> {
  const program = await findServer();
  const redis =
    program === undefined
      ? await killableContainer(inject('redisImage'))
      : await startPrivateRedis({ appendfsync: 'always', program });
  afterAll(() => redis.stop());
  return redis;
}
