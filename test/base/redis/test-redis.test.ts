import { expect, test } from 'vitest';
import { keysOf, testRedis } from './test-redis.js';

const { prefix, redis } = testRedis('test-redis');

test('a test file finds its own keys, plain and tagged, and no others', async () => {
  await redis.set(`${prefix}:plain`, '1');
  await redis.set(`{${prefix}:lane}:tagged`, '1');
  const other = `other-${prefix}`;
  await redis.set(other, '1', 'PX', 10_000);
  expect((await keysOf(redis, prefix)).sort()).toEqual([`${prefix}:plain`, `{${prefix}:lane}:tagged`].sort());
  await redis.unlink(other);
});
