import { randomBytes } from 'node:crypto';
import { afterAll, inject } from 'vitest';
import { connect, type Redis } from '../../../src/base/redis/connection.js';
import { deleteKeys } from '../../../src/base/redis/keys-with-prefix.js';

export { keysOf } from '../../../src/base/redis/keys-with-prefix.js';

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
