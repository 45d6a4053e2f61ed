import { expect, test } from 'vitest';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { privateRedis } from '../base/redis/private-redis.js';
import { outboxSetRun } from './outbox-set-run.js';

test('After a change of an outbox is confirmed, no message is sent as before, and none twice or never, although workers and the process that changes it are killed', {
  timeout: 240_000,
}, async () => {
  const redis = await privateRedis();
  const outcome = await outboxSetRun({
    redisUrl: redis.url,
    prefix: 'outbox-set',
    changes: 2,
    waiting: 300,
    random: seededRandom(3),
  });
  console.info(JSON.stringify(outcome));
  expect(outcome.problems).toEqual([]);
  expect(outcome.sent).toBeGreaterThan(300);
  expect(outcome.revisions).toBeGreaterThan(1);
});
