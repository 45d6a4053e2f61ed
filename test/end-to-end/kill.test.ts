import { expect, test } from 'vitest';
import { seededRandom } from '../../src/simulator/random.js';
import { privateRedis } from '../redis/private-redis.js';
import { killRun } from './kill-run.js';

const redis = await privateRedis();

test('No recipient is sent to twice and none is lost while workers and Redis are killed', {
  timeout: 180_000,
}, async () => {
  const { violations, figures, servedAgainMs } = await killRun({
    workerKills: 3,
    redisKills: 1,
    lanes: 1,
    recipients: 400,
    quota: 1_200,
    // One process sends, so a kill of it is sure to hit requests in flight; this seed has two of those.
    workers: ['send', 'follow-up'],
    everyMs: 1_500,
    latencyMs: 100,
    patienceMs: 90_000,
    redis,
    seed: 20_26,
    random: seededRandom(20_26),
    say: () => {},
  });
  console.info(JSON.stringify({ ...figures, servedAgainMs }));
  expect(violations.map(({ check, what }) => `${check}: ${what}`).join('\n')).toBe('');
  expect(figures.once).toBeGreaterThan(0);
  expect(figures.throttled).toBe(0);
  expect(Math.max(...servedAgainMs)).toBeLessThanOrEqual(15_000);
});
