import { expect, test } from 'vitest';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { privateRedis } from '../base/redis/private-redis.js';
import { stopRun } from './stop-run.js';

/** The nightly checks run 1,000 races. */
const RACES = Number(process.env['RACES'] ?? 100);

test('While processes are killed, no request that was claimed after a stop word goes to its sender, and each message in flight is counted', {
  timeout: 240_000 + 100 * RACES,
}, async () => {
  const redis = await privateRedis();
  const outcome = await stopRun({
    redisUrl: redis.url,
    prefix: 'stop',
    races: RACES,
    messages: RACES,
    kills: 3 + Math.floor(RACES / 300),
    random: seededRandom(3),
    onProgress: process.env['RACES'] === undefined ? () => {} : (line) => process.stderr.write(`${line}\n`),
  });
  console.info(JSON.stringify({ ...outcome, problems: outcome.problems.length }));
  expect(outcome.problems).toEqual([]);
  expect(outcome.suppressed).toBeGreaterThan(0);
  expect(outcome.confirmed).toBeGreaterThan(0);
});
