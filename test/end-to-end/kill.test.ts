import { expect, test } from 'vitest';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { privateRedis } from '../base/redis/private-redis.js';
import { killRun } from './kill-run.js';

const redis = await privateRedis();

test('No recipient is sent to twice, none is lost, and every result is delivered while workers and Redis are killed', {
  timeout: 180_000,
}, async () => {
  const { violations, figures, recoveryMs, results } = await killRun({
    workerKills: 3,
    redisKills: 1,
    lanes: 1,
    recipients: 400,
    quota: 1_200,
    // With one sending process, a kill of it hits requests in flight. This seed kills it twice.
    workers: ['send', 'follow-up'],
    everyMs: 1_500,
    latencyMs: 100,
    patienceMs: 90_000,
    redis,
    seed: 20_26,
    random: seededRandom(20_26),
    onProgress: () => {},
  });
  console.info(JSON.stringify({ ...figures, recoveryMs, results }));
  expect(violations.map(({ check, what }) => `${check}: ${what}`).join('\n')).toBe('');
  expect(figures.once).toBeGreaterThan(0);
  expect(results.problems).toEqual([]);
  expect(results.learned).toBeGreaterThanOrEqual(figures.once);
  expect(figures.throttled).toBe(0);
  expect(Math.max(...recoveryMs)).toBeLessThanOrEqual(15_000);
});
