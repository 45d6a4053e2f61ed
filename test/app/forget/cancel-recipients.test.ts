import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cancelRecipients } from '../../../src/app/forget/in-campaign.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../../engine/lane/lane-fixture.js';

const { redis, prefix } = testRedis('cancel-recipients');
let fixtures = 0;

test('Recipients that are cancelled one by one are never claimed, and each other one is claimed once', async () => {
  const moves = fc.array(
    fc.oneof(
      fc.record({ cancel: fc.array(fc.nat(39), { minLength: 1, maxLength: 4 }) }),
      fc.record({ claim: fc.integer({ min: 1, max: 3 }) }),
    ),
    { minLength: 3, maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(moves, fc.integer({ min: 1, max: 7 }), async (steps, maxRecipients) => {
      fixtures += 1;
      const lane = laneFixture(redis, prefix, `f${fixtures}`, { maxRecipients, inFlight: 100, quota: 1_000 });
      await lane.campaign('c', 40);
      const claimed: number[] = [];
      const asked = new Set<number>();
      let call = 0;
      const claim = async (want: number): Promise<number> => {
        call += 1;
        const { claims } = await lane.claims.send({ turn: 't', call, want, seen: 0, now: START });
        for (const { first, count } of claims)
          for (let ordinal = first; ordinal < first + count; ordinal++) {
            expect(asked.has(ordinal) && !before.has(ordinal)).toBe(false);
            claimed.push(ordinal);
          }
        return claims.length;
      };
      // Those that were claimed before they were to be cancelled.
      const before = new Set<number>();
      for (const step of steps) {
        if ('claim' in step) {
          await claim(step.claim);
          continue;
        }
        for (const ordinal of step.cancel) {
          asked.add(ordinal);
          if (claimed.includes(ordinal)) before.add(ordinal);
        }
        await cancelRecipients(lane.store, 'c', step.cancel, START);
      }
      while ((await claim(5)) > 0);
      const cancelled = [...asked].filter((ordinal) => !before.has(ordinal));
      expect(claimed.toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 40 }, (_, at) => at).filter((at) => !cancelled.includes(at)),
      );
      const { counts } = await lane.state('c');
      expect([counts['planned'] ?? 0, counts['cancelled'] ?? 0, counts['sending'] ?? 0]).toEqual([
        0,
        cancelled.length,
        40 - cancelled.length,
      ]);
    }),
    { numRuns: 40 },
  );
});

test('A campaign ends when its last open recipient is cancelled', async () => {
  const lane = laneFixture(redis, prefix, 'end', { maxRecipients: 2 });
  await lane.campaign('c', 2);
  expect(await cancelRecipients(lane.store, 'c', [1], START)).toMatchObject({
    isDone: true,
    events: [],
  });
  const { events } = await cancelRecipients(lane.store, 'c', [0, 1], START);
  expect(events).toMatchObject([{ type: 'ended', campaign: 'c' }]);
  expect(await lane.state('c')).toMatchObject({ state: 'completed', counts: { cancelled: 2 } });
});
