import { expect, test } from 'vitest';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { privateRedis } from '../base/redis/private-redis.js';
import { dueAtOnceRun } from './due-at-once-run.js';

test('Messages of two lanes that are due in the same second are each sent once, although workers are killed, and every status adds up', {
  timeout: 180_000,
}, async () => {
  const redis = await privateRedis();
  const outcome = await dueAtOnceRun({
    redisUrl: redis.url,
    prefix: 'due-at-once',
    messages: 2_000,
    kills: 2,
    random: seededRandom(8),
  });
  console.info(JSON.stringify(outcome));
  expect(outcome.problems).toEqual([]);
  expect(outcome.sent).toBeGreaterThan(0);
  expect(outcome.statuses).toBeGreaterThan(2);
});
