import { expect, test } from 'vitest';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { privateRedis } from '../base/redis/private-redis.js';
import { outboxKillRun } from './outbox-kill-run.js';

test('Workers that are killed at any moment send each message of an outbox at most once, as it was changed last, and none that was cancelled', {
  timeout: 180_000,
}, async () => {
  const redis = await privateRedis();
  const outcome = await outboxKillRun({
    redisUrl: redis.url,
    prefix: 'outbox-kill',
    kills: 3,
    random: seededRandom(3),
    onProgress: () => {},
  });
  console.info(JSON.stringify(outcome));
  expect(outcome.problems).toEqual([]);
  expect(outcome.sent).toBeGreaterThan(0);
  expect(outcome.moved).toBeGreaterThan(0);
  expect(outcome.cancelled).toBeGreaterThan(0);
});
