import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/tools/simulator/rules/random.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { scheduleReplaceRun } from './replace-run.js';

const { url, prefix, redis } = testRedis('schedules-replace-run');

test('No process that is stopped at any moment creates a campaign of a schedule that was removed or paused', async () => {
  const outcome = await scheduleReplaceRun({ redis, url, prefix, races: 60, random: seededRandom(7) });
  console.info(JSON.stringify(outcome));
  expect(outcome.late).toEqual([]);
  expect(outcome.created).toBeGreaterThan(0);
});
