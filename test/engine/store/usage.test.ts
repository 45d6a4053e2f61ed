import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';
import { usageOf, usageSums } from '../lane/usage-sums.js';

const { redis, prefix } = testRedis('usage-store');
const CHARGE = [2, 84_000] as const;

test('A message counts once however often it is settled and reported, and a late report takes back that it is unconfirmed', async () => {
  const rules = { maxRecipients: 2, notify: true, early: 120_000, heard: 600_000, patience: 20_000 } as const;
  const lane = laneFixture(redis, prefix, 'late', rules);
  await lane.campaign('c', 2);
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want: 1, seen: 0, now: START });
  const sums = () => usageSums(redis, prefix, 'late');
  const isExact = async () => expect(await sums()).toEqual(usageOf([await lane.state('c')], CHARGE));
  const settled = claims.map((claim) => ({
    ...({ claim, result: 'accepted', letters: 'CN', requestId: 'r', charge: CHARGE } as const),
  }));
  for (const at of [0, 1]) await lane.settlements.send(settled, 0, START + at);
  // Messages, segments, micros, and one that is unconfirmed.
  expect(await sums()).toEqual([2, 4, 168_000, 0, 0, 1, 0, 0, 0, 0, 0]);
  await isExact();
  for (const at of [2, 3]) {
    const [located] = await lane.notifications.locate(['r']);
    if (located)
      await lane.notifications.settle([{ requestId: 'r', located, letters: 'TI' }], [], START + at);
    await isExact();
  }
  expect(await sums()).toEqual([2, 4, 168_000, 1, 1, 0, 0, 0, 0, 0, 0]);
});
