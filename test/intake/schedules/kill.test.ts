import { expect, test } from 'vitest';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { scheduleKillRun } from './kill-run.js';

const { url, prefix, redis } = testRedis('schedules-kill');

const KILLS = NIGHTLY ? 20 : 6;

test(`After ${KILLS} kills around the due time, each occurrence has one outcome, and one campaign if it was created`, {
  timeout: 240_000,
}, async () => {
  const outcome = await scheduleKillRun({ redis, url, prefix: `${prefix}-1`, kills: KILLS });
  const { created, skipped, missed, failed } = outcome.occurrences;
  expect(outcome.twice).toEqual([]);
  expect(outcome.campaigns).toBe(created);
  expect({ failed, skipped, all: created + missed }).toEqual({ failed: 0, skipped: 0, all: outcome.passed });
  expect(created).toBeGreaterThan(0);
});
