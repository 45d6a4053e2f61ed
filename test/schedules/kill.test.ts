import { expect, test } from 'vitest';
import { testRedis } from '../redis/test-redis.js';
import { scheduleKillRun } from './kill-run.js';

const { url, prefix, redis } = testRedis('schedules-kill');

test('After twenty kills around the due time, each occurrence has one outcome, and at most one campaign', {
  timeout: 240_000,
}, async () => {
  const outcome = await scheduleKillRun({ redis, url, prefix: `${prefix}-1`, kills: 20 });
  console.info(JSON.stringify(outcome));
  const { created, skipped, missed, failed } = outcome.occurrences;
  expect(outcome.twice).toEqual([]);
  // A process that loses its lease, which lasts 50 ms here, may create a campaign whose occurrence another has recorded as missed.
  expect(outcome.campaigns).toBeGreaterThanOrEqual(created);
  expect({ failed, skipped, all: created + missed }).toEqual({ failed: 0, skipped: 0, all: outcome.passed });
  expect(created).toBeGreaterThan(0);
});
