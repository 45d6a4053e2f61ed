import { expect, test } from 'vitest';
import { privateRedis } from '../base/redis/private-redis.js';
import { tenantsRun } from './tenants-run.js';

test('Lanes that are added over HTTP while workers send are served within 5 s and keep their quotas, and nothing restarts', {
  timeout: 180_000,
}, async () => {
  const redis = await privateRedis();
  const outcome = await tenantsRun({ redisUrl: redis.url, prefix: 'tenants', lanes: 5, workers: 2 });
  console.info(JSON.stringify(outcome));
  expect(outcome.problems).toEqual([]);
  expect(outcome.sent).toBe(6 * 14);
});
