import { expect, test } from 'vitest';
import type { KeyLife } from '../../../src/campaign/states/api-key.js';
import { readUsage } from '../../../src/engine/lane/usage.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { outboxFixture } from '../../intake/outbox/outbox-fixture.js';
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

const DAY_MS = 86_400_000;
const lifeOf = async (): Promise<KeyLife> => ({ state: 'active', until: null });

test('What is settled at midnight UTC counts on the new day, and the day before is kept for 400 days', async () => {
  const lane = laneFixture(redis, prefix, 'midnight');
  await lane.campaign('c', 2);
  const midnight = Math.ceil(START / DAY_MS) * DAY_MS;
  const claims = await lane.claim(midnight - 1_000, 2);
  for (const [at, claim] of claims.entries())
    await lane.settle(claim, 'accepted', midnight - 1 + at, { letter: at === 0 ? 'T' : 'I', charge: CHARGE });
  const finder = { ids: async () => ['midnight'], idOf: async (name: string) => name };
  const deps = { redis, keys: lane.keys, finder, lifeOf, currency: undefined };
  const read = async (time: number, options = {}) =>
    (await readUsage({ ...deps, clock: () => time }, options)).map(({ day, messageCount, outcomes }) => [
      ...[day, messageCount, outcomes.deliveredToTerminal, outcomes.deliveryImpossible],
    ]);
  const [eve, day] = [
    ['2096-10-19', 1, 1, 0],
    ['2096-10-20', 1, 0, 1],
  ];
  expect(await read(midnight)).toEqual([eve, day]);
  expect(await read(midnight - 1)).toEqual([eve]);
  // By default, 30 days.
  expect(await read(midnight + 29 * DAY_MS)).toEqual([day]);
  expect(await read(midnight, { from: '2096-10-20', to: '2096-10-20' })).toEqual([day]);
  const lifetime = await redis.pttl(lane.keys.lane('midnight', `usage:${midnight / DAY_MS - 1}`));
  expect(lifetime / DAY_MS).toBeGreaterThan(400);
  expect(lifetime / DAY_MS).toBeLessThanOrEqual(401);
});

test('An unknown outcome counts nothing, and what it costs counts once when an operator says that it was accepted', async () => {
  const lane = laneFixture(redis, prefix, 'unknown', { maxRecipients: 2 });
  await lane.campaign('c', 2);
  // Two segments each, of different prices.
  await lane.settle(await lane.claimOne(), 'unknown', START, { letters: 'UU', charge: [2, 84_000, 10_000] });
  expect(await usageSums(redis, prefix, 'unknown')).toEqual(usageOf([], CHARGE));
  const unknown = await lane.commands.unknown();
  for (const at of [1, 2]) await lane.commands.resolve('accepted', 'x', unknown, START + at * 100_000);
  expect(await usageSums(redis, prefix, 'unknown')).toEqual([2, 4, 94_000, 0, 0, 2, 0, 0, 0, 0, 0]);
});

test('The second recipient of a batch is charged its own price, although the first was refused', async () => {
  const lane = laneFixture(redis, prefix, 'prices', { maxRecipients: 2 });
  await lane.campaign('c', 2);
  await lane.settle(await lane.claimOne(), 'accepted', START, {
    letters: 'RN',
    charge: [1, 84_000, 10_000],
  });
  expect(await usageSums(redis, prefix, 'prices')).toEqual([1, 1, 10_000, 0, 0, 0, 1, 0, 0, 0, 0]);
});

test('All lanes together have 200 tags a day, in whatever order Redis returns them, and other for the rest', async () => {
  const { keys } = laneFixture(redis, prefix, 'tags');
  const one = '1 1 0 1 0 0 0 0 0 0 0';
  const tags = (first: number) => Array.from({ length: 150 }, (_, at) => [` tag-${first + at}`, one]);
  const [day, key] = [100, (lane: string) => keys.lane(lane, 'usage:100')];
  await redis.hset(key('first'), ...[[' other', one], [' ', one], ...tags(0)].flat());
  await redis.hset(key('second'), ...tags(100).flat());
  const finder = { ids: async () => ['first', 'second'], idOf: async (name: string) => name };
  const clock = () => day * DAY_MS;
  const [usage] = await readUsage({ redis, keys, finder, clock, lifeOf, currency: undefined });
  const counts = new Map(usage?.tags.map(({ tag, messageCount }) => [tag, messageCount]));
  expect(counts.size).toBe(201);
  // 50 tags are on both lanes, and 50 are too many.
  expect([...counts.values()].filter((count) => count === 2)).toHaveLength(50);
  expect(counts.get('other')).toBe(51);
});

test('A message that is cancelled before it is put counts as cancelled until it is put', async () => {
  const own = await outboxFixture(redis, `${prefix}-outbox`);
  const cancelled = async () => (await usageSums(redis, `${prefix}-outbox`, own.laneId))[8];
  await own.cancel('a', 1);
  expect(await cancelled()).toBe(1);
  await own.put('a', 1_000, { version: 2 });
  expect(await cancelled()).toBe(0);
  expect(await own.counts()).toMatchObject({ total: 1, sum: 1, cancelled: 0 });
});
