import { expect, test } from 'vitest';
import { readLaneOutlook } from '../../../src/engine/lane/lane-outlook.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { outboxFixture } from '../../intake/outbox/outbox-fixture.js';
import { laneFixture, START } from './lane-fixture.js';

const { redis, prefix } = testRedis('lane-outlook');

test('An estimate knows why a lane starts no requests for a time that nothing bounds', async () => {
  const [held, stopped] = ['held', 'stopped'].map((name) => laneFixture(redis, prefix, name));
  if (held === undefined || stopped === undefined) throw new Error('no lane');
  expect((await readLaneOutlook(held.store, START)).obstacle).toBeNull();
  await held.commands.lane('hold', 'for today', START);
  await stopped.commands.stop('403', 0);
  const obstacles = [held, stopped].map(async ({ store }) => (await readLaneOutlook(store, START)).obstacle);
  expect(await Promise.all(obstacles)).toEqual([
    'sending is held until you resume it',
    'sending is stopped until you resume it',
  ]);
});

test('Permits in use, first polls, and campaigns are read as they are', async () => {
  const lane = laneFixture(redis, prefix, 'in-use');
  await lane.campaign('one', 30, { weight: 4 });
  const [, ...answered] = await lane.claim(START, 21);
  await lane.settle(answered, 'accepted', START + 1_000);
  const outlook = await readLaneOutlook(lane.store, START + 2_000);
  const [from, until, sends, polls] = outlook.returning;
  expect([Number(from) >= START + 3_600_000, Number(until) > Number(from), sends, polls]).toEqual([
    true,
    true,
    1,
    0,
  ]);
  expect(outlook.returning.slice(-2)).toEqual([20, 0]);
  const due = Array.from({ length: outlook.due.length / 3 }, (_, at) =>
    outlook.due.slice(3 * at, 3 * at + 3),
  );
  expect(due.reduce((sum, [, , count = 0]) => sum + count, 0)).toBe(20);
  expect(due.every(([first = 0, last = 0]) => START + 16_000 <= first && first <= last)).toBe(true);
  expect(outlook.campaigns).toMatchObject([{ id: 'one', requests: 9, weight: 4 }]);
});

test('Of an outbox, the messages that are due count, and those of later do not', async () => {
  const own = await outboxFixture(redis, prefix);
  await own.putAllNow(['a', 'b']);
  await own.put('later', 60_000);
  await own.lapseDue();
  expect((await readLaneOutlook(own.laneStore, own.now())).campaigns).toMatchObject([
    { id: 'outbox:dentist', requests: 2 },
  ]);
});

test.each([
  [100, 0.2, 20, 50],
  [100, 0.75, 75, 75],
  [2, 0, 0, 1],
  // Sends and polls use a single permit in turn.
  [1, 0.2, 0.5, 0.5],
  [1, 0, 0, 0.5],
])(
  'Of %i permits and with a share of %d, polls get %d to %d',
  async (quota, pollShare, pollsAtLeast, pollsAtMost) => {
    const { store } = laneFixture(redis, prefix, 'shares', { quota, pollShare });
    expect(await readLaneOutlook(store, START)).toMatchObject({ limit: quota, pollsAtLeast, pollsAtMost });
  },
);
