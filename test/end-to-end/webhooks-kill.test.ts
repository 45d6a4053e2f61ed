import { expect, test } from 'vitest';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { privateRedis } from '../base/redis/private-redis.js';
import { webhooksKillRun } from './webhooks-kill-run.js';

test('Each endpoint gets every final result exactly once by the ids of its requests, although the processes that deliver are killed, and results were unknown before', {
  timeout: 240_000,
}, async () => {
  const redis = await privateRedis();
  const outcome = await webhooksKillRun({
    redisUrl: redis.url,
    prefix: 'webhooks-kill',
    kills: 5,
    random: seededRandom(3),
  });
  console.info(JSON.stringify(outcome));
  expect(outcome.problems).toEqual([]);
});
