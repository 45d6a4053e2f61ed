import { expect, test } from 'vitest';
import { testRedis } from '../base/redis/test-redis.js';
import { recordsKillRun } from './kill-run.js';

const redis = testRedis('records-kill');

test('After three kills, every request is a complete file or listed as unknown, and none is sent twice', async () => {
  const [requests, kills] = [40, 3];
  const outcome = await recordsKillRun({ redis, requests, kills });
  console.info(JSON.stringify(outcome));
  const unknown = Object.values(outcome.unknown);
  expect(outcome).toMatchObject({ lost: [], twice: [], maxInFlight: 1, completeAfterwards: requests });
  expect(outcome.complete).toBe(requests - unknown.reduce((sum, count) => sum + count, 0));
  // At most one per kill and credential; the first and the last kill hit a request in flight.
  expect(Math.max(...unknown)).toBeLessThanOrEqual(kills);
  expect(Math.max(...unknown)).toBeGreaterThan(0);
});
