import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { plantIn } from '../../intake/outbox/planted-bug.js';
import { LEARNING_BUGS } from './learning-bugs.js';

const place = testRedis('learning-planted');

test.each(LEARNING_BUGS)('A planted bug is caught: $name', async ({ run, caughtAs, ...bug }) => {
  const planted = { ...place, redis: plantIn(place.redis, bug) };
  await expect(run(planted)).rejects.toThrow(caughtAs);
});
