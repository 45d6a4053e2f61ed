import { expect, test, vi } from 'vitest';
import { recentlySettled } from '../../../src/engine/notifications/batch-lookup.js';
import type { Inbox } from '../../../src/engine/notifications/inbox.js';
import type { NotificationStore } from '../../../src/engine/notifications/notification-store.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { storedLane } from '../../scene/stored.js';
import { lookAtOnce, receivingLane, report } from './receiving-lane.js';

const server = testRedis('inbox');

test('A burst is settled in one call, whatever its order', async () => {
  const it = receivingLane(server);
  const id = await it.campaign([0, 1, 2, 3], 'burst');
  const claims = await it.claim(4);
  for (const [at, claim] of claims.entries()) await it.accept(claim, `r${at}`);
  const inbox = it.open();
  for (const at of [2, 0, 3, 1]) {
    expect(inbox.offer([report(`r${at}`, at), report(`r${at}`, at, 'DeliveredToNetwork')])).toBe(true);
  }
  const settled = [{ reports: 8, requests: 4, waiting: 0 }];
  await expect.poll(() => it.happened('notifications.settled')).toMatchObject(settled);
  expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 4 });
  expect(it.happened('campaign.completed')).toHaveLength(1);
});

test('A report that comes before the response that names its request waits for it', async () => {
  const it = receivingLane(server);
  const id = await it.campaign([0], 'early');
  const claim = await it.claimOne();
  const inbox = it.open();
  inbox.offer([report('r0', 0)]);
  await expect.poll(() => it.happened('notifications.settled')).toMatchObject([{ waiting: 1 }]);
  await it.accept(claim, 'r0');
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 }), SOON);
});

test('A report that comes during a look at the waiting reports is found by the next look', async () => {
  const it = receivingLane(server);
  const id = await it.campaign([0, 1], 'meanwhile');
  const [first, second] = await it.claim(2);
  if (first === undefined || second === undefined) throw new Error('nothing to send');
  let inbox: Inbox | undefined;
  let isFirstLook = true;
  // The second report begins to wait after the look got its counts, and before the look is over.
  const settle: NotificationStore['settle'] = async (known, early, now) => {
    const done = await it.store.settle(known, early, now);
    if (known.length === 0 || !isFirstLook) return done;
    isFirstLook = false;
    inbox?.offer([report('r1', 1)]);
    await expect.poll(() => it.happened('notifications.settled')).toHaveLength(2);
    return done;
  };
  inbox = it.open(it.lane, { settle });
  inbox.offer([report('r0', 0)]);
  await expect.poll(() => it.happened('notifications.settled')).toHaveLength(1);
  await it.accept(first, 'r0');
  await vi.waitFor(() => expect(it.happened('notifications.settled')).toHaveLength(2), SOON);
  await it.accept(second, 'r1');
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 2 }), SOON);
});

test('The next process settles the reports that wait', async () => {
  const it = receivingLane(server);
  const id = await it.campaign([0], 'next');
  const claim = await it.claimOne();
  const first = it.open();
  first.offer([report('r0', 0)]);
  await first.stop();
  await it.accept(claim, 'r0');
  it.open();
  await vi.waitFor(async () => expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 }), SOON);
});

test('Reports that were accepted before the inbox stops are settled', async () => {
  const it = receivingLane(server);
  const id = await it.campaign([0], 'stop');
  const claim = await it.claimOne();
  await it.accept(claim, 'r0');
  const inbox = it.open();
  inbox.offer([report('r0', 0)]);
  await inbox.stop();
  expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 });
  expect(inbox.offer([report('r0', 0)])).toBe(false);
});

test('The inbox stops only after it has settled everything, as long as Redis responds', async () => {
  const it = receivingLane(server, { left: 100_000 });
  // The server is slow: the inbox waits again and again, each time until some of the reports are settled.
  let [bursts, ring] = [0, (): void => {}];
  const settle: NotificationStore['settle'] = async (known, early, now) => {
    const done = await it.store.settle(known, early, now);
    bursts += 1;
    if (bursts % 4 === 0) setImmediate(() => ring());
    return done;
  };
  const alarm = lookAtOnce((call) => {
    ring = call;
  });
  const inbox = it.open(it.lane, { settle }, alarm);
  inbox.offer(Array.from({ length: 5_000 }, (_, at) => report(`r${at}`, 0)));
  await inbox.stop();
  expect((await storedLane(it.lane).waitingReports()).ids).toHaveLength(5_000);
  expect(it.happened('notifications.failed')).toEqual([]);
});

test('Reports that Redis does not settle before the inbox stops are emitted as lost', async () => {
  const it = receivingLane(server);
  const settle = () => new Promise<never>(() => {});
  const inbox = it.open(it.lane, { settle }, lookAtOnce(setImmediate));
  inbox.offer(Array.from({ length: 1_200 }, (_, at) => report(`r${at}`, 0)));
  await inbox.stop();
  expect(it.happened('notifications.failed')).toMatchObject([{ reports: 1_200 }]);
});

test('A contradiction that comes after the request was settled is counted', async () => {
  const it = receivingLane(server);
  const id = await it.campaign([0], 'contradicted');
  const claim = await it.claimOne();
  await it.accept(claim, 'r0');
  const inbox = it.open();
  inbox.offer([report('r0', 0)]);
  await expect.poll(() => it.states(id)).toMatchObject({ deliveredToTerminal: 1 });
  inbox.offer([report('r0', 0, 'DeliveryImpossible')]);
  await expect.poll(() => it.happened('recipient.contradicted')).toHaveLength(1);
  expect(await it.states(id)).toMatchObject({ deliveredToTerminal: 1 });
});

test('The requests that were settled last are remembered, up to a maximum over all lanes', () => {
  const settled = recentlySettled(2);
  const [one, two, three] = [1, 2, 3].map((first) => ({ campaign: 'c', first, count: 1 }));
  if (one === undefined || two === undefined || three === undefined) throw new Error('three were made');
  settled.add('a', 'x', one);
  settled.add('b', 'x', two);
  expect([settled.find('a', 'x'), settled.find('b', 'x'), settled.find('c', 'x')]).toEqual([
    one,
    two,
    undefined,
  ]);
  settled.add('a', 'x', one);
  settled.add('a', 'y', three);
  expect([settled.find('a', 'x'), settled.find('b', 'x'), settled.find('a', 'y')]).toEqual([
    one,
    undefined,
    three,
  ]);
});

test('Discarded reports are emitted at most once a minute, and not for every burst', async () => {
  const it = receivingLane(server);
  const settle: NotificationStore['settle'] = async (known, early, now) => ({
    ...(await it.store.settle(known, early, now)),
    discarded: early.length,
  });
  const inbox = it.open(it.lane, { settle });
  for (let burst = 1; burst <= 5; burst += 1) {
    inbox.offer([report(`r${burst}`, 0)]);
    await expect.poll(() => it.happened('notifications.settled')).toHaveLength(burst);
  }
  expect(it.happened('notifications.refused')).toMatchObject([{ reason: 'overload', notifications: 1 }]);
});

test('Reports beyond the capacity are not accepted until others are settled', async () => {
  const capacity = { left: 2 };
  const it = receivingLane(server, capacity);
  const inbox = it.open();
  expect(inbox.offer([report('a', 0), report('b', 1), report('c', 2)])).toBe(false);
  expect(inbox.offer([report('a', 0), report('b', 1)])).toBe(true);
  expect(inbox.offer([report('c', 2)])).toBe(false);
  await expect.poll(() => capacity.left).toBe(2);
  expect(inbox.offer([report('c', 2)])).toBe(true);
});
