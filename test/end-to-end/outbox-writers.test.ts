import { expect, test } from 'vitest';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { privateRedis } from '../base/redis/private-redis.js';
import { cancelledRace, outboxWritersRun, versionsRace } from './outbox-writers-run.js';

const redis = await privateRedis();

test('Once a cancel with a higher version is confirmed, a planned message is never sent, even if others put it again meanwhile', {
  timeout: 120_000,
}, async () => {
  const run = { redisUrl: redis.url, prefix: 'cancelled', ids: 400, kills: 0, random: seededRandom(5) };
  const outcome = await outboxWritersRun(run, cancelledRace);
  console.info(JSON.stringify(outcome));
  expect(outcome.problems).toEqual([]);
  expect(outcome.answers['put created, cancel cancelled'] ?? 0).toBeGreaterThan(0);
});

test('Two writers of one id are answered truthfully, and it is sent at most once, with the last text, although workers are killed', {
  timeout: 180_000,
}, async () => {
  const run = { redisUrl: redis.url, prefix: 'versions', ids: 200, kills: 4, random: seededRandom(6) };
  const outcome = await outboxWritersRun(run, versionsRace);
  console.info(JSON.stringify(outcome));
  expect(outcome.problems).toEqual([]);
  expect(outcome.sent).toBeGreaterThan(0);
});
