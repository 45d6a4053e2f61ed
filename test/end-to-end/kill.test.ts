import { expect, test } from 'vitest';
import { seededRandom } from '../../src/simulator/random.js';
import { privateRedis } from '../redis/private-redis.js';
import { killRun } from './kill-run.js';

const redis = await privateRedis();

test('No recipient is sent to twice and none is lost while workers and Redis are killed', {
  timeout: 90_000,
}, async () => {
  const kills = { workerKills: 3, redisKills: 1 };
  const figures = await killRun({
    ...kills,
    recipients: 1_500,
    // One process sends, so a kill of it is sure to hit requests in flight; this seed has two of those.
    workers: ['send', 'follow-up'],
    everyMs: 1_500,
    latencyMs: 100,
    patienceMs: 30_000,
    redis,
    random: seededRandom(20_26),
    say: () => {},
  });
  console.info(JSON.stringify({ ...figures, final: figures.final.recipients }));
  expect(figures.twice).toBe(0);
  expect(figures.lost).toEqual([]);
  expect(figures.unbalanced).toEqual([]);
  expect(figures.unknown).toBeLessThanOrEqual(32 * (kills.workerKills + kills.redisKills));
  expect(figures.throttled).toBe(0);
  expect(figures.final.state).toBe('completed');
  expect(Math.max(...figures.servedAgainMs)).toBeLessThanOrEqual(15_000);
});
