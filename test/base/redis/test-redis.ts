import { randomBytes } from 'node:crypto';
import { afterAll, inject } from 'vitest';
import { connect, type Redis } from '../../../src/base/redis/connection.js';

/** A test file's part of the run's Redis. */
export interface TestRedis {
  /** For code that opens its own connection: BullMQ, worker processes. */
  url: string;
  /** All keys of the file begin with it, plain or as a hash tag: `prefix…` or `{prefix…`. */
  prefix: string;
  redis: Redis;
}

/**
 * A key prefix in the run's Redis for the test file that calls this at its top level. The prefix begins with `name` (lower-case
 * letters, digits, and hyphens), so that a leftover key shows its owner. After the file's last test its keys are deleted and the
 * connection is closed.
 */
export function testRedis(name: string): TestRedis {
  if (!/^[a-z0-9-]+$/.test(name)) throw new TypeError(`not a name for a prefix: ${name}`);
  const url = inject('redisUrl');
  const prefix = `t-${name}-${randomBytes(4).toString('hex')}`;
  const redis = connect(url);
  afterAll(async () => {
    await deleteKeys(redis, prefix);
    redis.disconnect();
  });
  return { url, prefix, redis };
}

/** Every key that begins with the prefix, plain or as a hash tag. Scans each node of a cluster. */
export async function keysOf(redis: Redis, prefix: string): Promise<string[]> {
  const nodes = 'nodes' in redis ? redis.nodes('master') : [redis];
  const found: string[] = [];
  for (const node of nodes) {
    for (const pattern of [`${prefix}*`, `{${prefix}*`]) {
      let cursor = '0';
      do {
        const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', 1000);
        cursor = next;
        found.push(...keys);
      } while (cursor !== '0');
    }
  }
  return found;
}

async function deleteKeys(redis: Redis, prefix: string): Promise<void> {
  for (const key of await keysOf(redis, prefix)) await redis.unlink(key);
}
