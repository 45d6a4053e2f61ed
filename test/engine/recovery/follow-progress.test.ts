import { expect, test } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { perName, RECIPIENT_STATES } from '../../../src/campaign/states/recipient.js';
import { progressKey } from '../../../src/engine/recipients/campaign-keys.js';
import { readProgress, recordProgress } from '../../../src/engine/recipients/progress.js';
import { progressFollower } from '../../../src/engine/recovery/follow-progress.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { storedLane } from '../../scene/stored.js';
import { runningState } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('progress');
const keys = keyNames(prefix);
const lane = 'main';
const START = Date.UTC(2026, 4, 2, 12);
const countsAt = (delivered: number, total = 100_000) => ({
  ...perName(RECIPIENT_STATES, () => 0),
  planned: total - delivered,
  deliveredToTerminal: delivered,
});

test('A course of hours stays within 8 kB, and keeps its first and its last counts', async () => {
  const of = { lane, campaign: 'long', hasEnded: false };
  for (let step = 0; step <= 2_000; step += 1)
    await recordProgress(redis, keys, of, { at: START + step * 10_000, counts: countsAt(step) });
  const last = START + 2_001 * 10_000;
  await recordProgress(redis, keys, { ...of, hasEnded: true }, { at: last, counts: countsAt(2_001) });
  expect(await redis.strlen(progressKey(keys, lane, 'long'))).toBeLessThanOrEqual(8_000);
  const samples = await readProgress(redis, keys, lane, 'long');
  expect(samples.length).toBeGreaterThan(64);
  expect([samples[0], samples.at(-1)]).toEqual([
    { at: START, counts: countsAt(0) },
    { at: last, counts: countsAt(2_001) },
  ]);
  const gaps = samples.slice(1).map(({ at }, index) => at - (samples[index]?.at ?? 0));
  expect(Math.max(...gaps)).toBeLessThan((last - START) / 16);
});

test('Counts that have not changed, and those that follow too soon, are not recorded', async () => {
  const of = { lane, campaign: 'short', hasEnded: false };
  await recordProgress(redis, keys, of, { at: START, counts: countsAt(0) });
  await recordProgress(redis, keys, of, { at: START + 60_000, counts: countsAt(0) });
  await recordProgress(redis, keys, of, { at: START + 120_000, counts: countsAt(5) });
  expect(await recordProgress(redis, keys, of, { at: START + 121_000, counts: countsAt(6) })).toBe(
    START + 126_000,
  );
  expect((await readProgress(redis, keys, lane, 'short')).map(({ at }) => at)).toEqual([
    START,
    START + 120_000,
  ]);
});

test('A campaign is followed while it is served, and then until it has ended', async () => {
  const follower = progressFollower({ redis, keys });
  const stored = storedLane({ redis, keys, id: lane });
  const state = (delivered: number, more: object = {}) =>
    stored.setState('c1', {
      ...runningState(10),
      counts: { planned: 10 - delivered, deliveredToTerminal: delivered },
      ...more,
    });
  await stored.run('c1');
  await state(0);
  const dueAt = await follower.record(lane, START);
  expect(dueAt).toBe(START + 5_000);
  await stored.stopAll();
  await state(9);
  await follower.record(lane, START + 10_000);
  await state(10, { state: 'completed', endedAt: START + 11_000 });
  expect(await follower.record(lane, START + 11_000)).toBe(Number.POSITIVE_INFINITY);
  await stored.removeState('c1');
  expect(await follower.record(lane, START + 30_000)).toBe(Number.POSITIVE_INFINITY);
  const samples = await readProgress(redis, keys, lane, 'c1');
  expect(samples.map(({ at, counts }) => [at - START, counts.deliveredToTerminal])).toEqual([
    [0, 0],
    [10_000, 9],
    [11_000, 10],
  ]);
});
