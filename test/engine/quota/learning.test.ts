import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { QUOTA_MODELS, type QuotaModelName } from '../../../src/tools/simulator/rules/quota-models.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../lane/lane-fixture.js';
import { runVirtually } from '../lane/virtual-service.js';
import {
  chosen,
  delays,
  emptiesATokenBucket,
  fillsAShortWindow,
  followsARaisedQuota,
  followsARaisedQuotaSlowly,
  learningLane,
  learnsAnHourlyQuota,
  learnsAShortWindow,
  learnsNothingFromStrays,
  learnsWhatABucketRefills,
  MODELS,
  ROUNDS,
  showsWhatIsKnown,
  sum,
  survivesAnotherCause,
  survivesTheTurnOfTheHour,
} from './learning-runs.js';

const place = testRedis('learning');
const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
const timeout = 60_000 * ROUNDS;

describe.each(QUOTA_MODELS)('Against a service that counts by %s', (model) => {
  test.each(chosen([5], [1, 5, 19], [1, 2, 5, 12, 19, 50]))(
    'an unknown quota is learned: at most 6 refusals in a window, 1 once it is learned, 95 percent used: %i',
    { timeout },
    async (quota) => {
      for (const round of rounds) await learnsAnHourlyQuota(place, model, quota, round);
    },
  );
});

describe.each(chosen<QuotaModelName>(['bucket'], QUOTA_MODELS))(
  'Against a service that counts by %s',
  (model) => {
    test('an unknown quota is learned by bursts that take much of a window: refusals never get ahead of one a window', {
      timeout,
    }, async () => {
      for (const round of rounds) await learnsAShortWindow(place, model, 60, round);
    });
  },
);

describe.each(MODELS)('Against a service that counts by %s', (model) => {
  test('a quota that the service raises tenfold is followed within 13 windows', { timeout }, async () => {
    for (const round of rounds) await followsARaisedQuota(place, model, round);
  });

  test('it is followed within 24 windows where one request at a time is too slow', { timeout }, async () => {
    for (const round of rounds) await followsARaisedQuotaSlowly(place, model, round);
  });
});

test.each(
  chosen<readonly [QuotaModelName, number]>(
    [['sliding', 90]],
    [
      ['clock', 300],
      ['sliding', 300],
    ],
  ),
)(
  'An unknown quota that only several requests in flight can fill costs less than a window: %s, %i',
  (model, quota) => fillsAShortWindow(place, model, quota),
);

test('A token bucket that is emptied slowly refuses no more than one request a window', {
  timeout,
}, async () => {
  for (const round of rounds) await learnsWhatABucketRefills(place, round);
});

test('After a burst that uses up what a token bucket has saved, refusals never get ahead of one a window', {
  timeout,
}, async () => {
  for (const round of rounds) await emptiesATokenBucket(place, round);
});

test.each(chosen([5], [1, 3, 5, 15]))(
  'An unknown quota is learned from a burst that spans the turn of the hour after %i s',
  { timeout },
  async (seconds) => {
    for (const round of rounds) await survivesTheTurnOfTheHour(place, 'clock', seconds, round);
  },
);

test.each(chosen([25], [1, 5, 15, 25, 60]))(
  'A 429 that the quota does not cause, after %i requests, costs at most one window',
  { timeout },
  async (before) => {
    for (const round of rounds) await survivesAnotherCause(place, before, round);
  },
);

test.each(chosen([5], [1, 5, 15]))(
  'A stray 429 after %i requests teaches nothing, not even with another one in the next window',
  (before) => learnsNothingFromStrays(place, before),
);

test('A quota of few requests is not shown as known until two windows agree', () => showsWhatIsKnown(place));

test('Whatever the quota, the window, and the delays, there is on average at most one refusal a window once it is learned', {
  timeout,
}, async () => {
  const world = fc.record({
    model: fc.constantFrom(...QUOTA_MODELS),
    quota: fc.integer({ min: 1, max: 40 }),
    window: fc.constantFrom(10_000, 60_000, 3_600_000),
    slowest: fc.integer({ min: 20, max: 250 }),
    phase: fc.double({ min: 0, max: 1, noNaN: true }),
    seed: fc.integer({ min: 1, max: 1_000_000 }),
  });
  const windows = 18;
  await fc.assert(
    fc.asyncProperty(world, async ({ model, quota, window, slowest, phase, seed }) => {
      const lane = await learningLane(place, { window, timeout: window / 20, margin: 500, backoff: 50 });
      const begin = START + Math.floor(phase * window);
      const { throttled } = await runVirtually(lane, model, quota, windows, delays(slowest, seed), begin);
      expect(sum(throttled.slice(0, 2))).toBeLessThanOrEqual(12);
      expect(sum(throttled.slice(2))).toBeLessThanOrEqual(windows - 2);
    }),
    { numRuns: NIGHTLY || ROUNDS > 1 ? 8 * ROUNDS : 3, seed: 7 },
  );
});
