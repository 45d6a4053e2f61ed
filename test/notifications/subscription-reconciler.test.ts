import { expect, onTestFinished, test, vi } from 'vitest';
import { systemAlarm } from '../../src/clock.js';
import type { CallbackSettings } from '../../src/config/index.js';
import { createEvents, type VolleyEvent } from '../../src/events/events.js';
import { callbackState } from '../../src/notifications/callback-state.js';
import { isDue, keepSubscriptions } from '../../src/notifications/subscription-reconciler.js';
import { keyNames } from '../../src/redis/keys.js';
import { testRedis } from '../redis/test-redis.js';
import { atSimulator, CALLBACK, clientOf, FOREIGN, OWN } from './subscribing.js';

const { redis, prefix } = testRedis('keep-subscription');
const { simulator, deskOf, there } = atSimulator();
/** Waits for what comes by itself, also on a machine that has much else to do. */
const until = (check: () => unknown) => vi.waitFor(check, 20_000);

const TIMES = { everyMs: 300_000, silentMs: 60_000 };
const seen = {
  state: 'ours',
  about: '',
  mark: '',
  checkedAt: 1_000_000,
  oursSince: 0,
  heardAt: 0,
  now: 1_000_000,
} as const;
const some = async () => 3;
const nothing = async () => 0;

test.each([
  ['never looked at', { checkedAt: 0 }, nothing, false, true],
  ['ours, looked at just now', { now: 1_010_000 }, some, false, false],
  ['ours, looked at long ago', { now: 1_300_000 }, nothing, false, true],
  ['ours, looked at in what is the future since the clock went back', { now: 400_000 }, nothing, false, true],
  ['ours and silent, though reports are awaited', { now: 1_060_000 }, some, false, true],
  ['ours and silent, with nothing to tell of', { now: 1_060_000 }, nothing, false, false],
  ['ours and heard of lately', { now: 1_060_000, heardAt: 1_050_000 }, some, false, false],
  ['somebody else’s', { now: 1_060_000, state: 'foreign' as const }, nothing, false, true],
  [
    'somebody else’s, looked at just now',
    { now: 1_010_000, state: 'foreign' as const },
    nothing,
    false,
    false,
  ],
  ['found by a process that has just started', { now: 1_010_000 }, nothing, true, true],
  ['found by one of many that have just started', { now: 1_001_000 }, nothing, true, false],
])('whether it is looked at: %s', async (_, change, awaiting, isFirst, due) => {
  expect(await isDue({ ...seen, ...change }, awaiting, TIMES, isFirst)).toBe(due);
});

test('how long a subscription has been ours is kept until it is not, however often it is looked at', async () => {
  const store = callbackState(redis, keyNames(prefix), 'since');
  const found = async (state: 'ours' | 'foreign') => {
    await store.write({ state, about: '', mark: '' });
    return store.read();
  };
  const first = await found('ours');
  expect(first.oursSince).toBe(first.checkedAt);
  await until(async () => expect((await found('ours')).checkedAt).toBeGreaterThan(first.checkedAt));
  expect((await store.read()).oursSince).toBe(first.oursSince);
  expect(await found('foreign')).toMatchObject({ state: 'foreign', oursSince: 0 });
  expect((await found('ours')).oursSince).toBeGreaterThan(first.oursSince);
});

/** Keeps the simulator's subscription of a lane, looking at it all the time. */
function keeping(lane: string, me: string, told: VolleyEvent[]) {
  const events = createEvents({ level: 'silent' });
  events.onAny((event) => told.push(event));
  const store = callbackState(redis, keyNames(prefix), lane);
  const keeper = keepSubscriptions({
    lanes: [{ name: lane, desk: deskOf(), store }],
    events,
    alarm: systemAlarm,
    me,
    everyMs: 100,
    silentMs: 50,
    leaseMs: 60,
  });
  return { keeper, store };
}

test('another address is subscribed by the process that brings it along, however lately the old one was seen', async () => {
  const store = callbackState(redis, keyNames(prefix), 'moved');
  const kept = (me: string, callback: CallbackSettings) => {
    const keeper = keepSubscriptions({
      lanes: [{ name: 'moved', desk: deskOf(callback), store }],
      events: createEvents({ level: 'silent' }),
      alarm: systemAlarm,
      me,
      everyMs: 300_000,
      silentMs: 60_000,
      leaseMs: 60_000,
    });
    onTestFinished(() => keeper.stop());
  };
  const isThere = async (url: string) =>
    until(async () => expect(await there()).toMatchObject({ url: expect.stringContaining(url) }));
  kept('before', { ...CALLBACK, url: 'https://old.example/in' });
  await isThere('https://old.example/in/');
  await until(async () => expect(await store.lease('test', 60_000)).toBe(true));
  await store.release('test');
  kept('after', CALLBACK);
  await isThere(OWN.url);
});

test('it is made by itself, made again when it is lost, and not taken from somebody else', async () => {
  const told: VolleyEvent[] = [];
  const { keeper, store } = keeping('kept', 'me', told);
  try {
    await until(async () => expect(await there()).toMatchObject({ url: OWN.url }));
    await clientOf(simulator().messagingBaseUrl).remove('key');
    await until(async () => expect(await there()).toMatchObject({ url: OWN.url }));
    // The service has it before the keeper has heard so, and it was ours before.
    await until(() =>
      expect(told.map(({ type }) => type)).toEqual(['subscription.created', 'subscription.created']),
    );
    expect(await store.read()).toMatchObject({ state: 'ours' });

    const client = clientOf(simulator().messagingBaseUrl);
    await until(async () => {
      await client.remove('key');
      expect(await client.create(FOREIGN, 'key')).toEqual({ kind: 'created' });
    });
    await until(async () => expect(await store.read()).toMatchObject({ state: 'foreign' }));
    await until(async () => {
      const { now, checkedAt } = await store.read();
      expect(now - checkedAt).toBeGreaterThan(0);
      expect(told.filter(({ type }) => type === 'subscription.foreign')).toHaveLength(1);
    });
    expect(await there()).toMatchObject(FOREIGN);
  } finally {
    await keeper.stop();
  }
});

test('of several processes one at a time sees to it', async () => {
  const told: VolleyEvent[] = [];
  const all = ['a', 'b', 'c', 'd'].map((me) => keeping('shared', me, told));
  const store = callbackState(redis, keyNames(prefix), 'shared');
  try {
    await until(async () => expect(await there()).toMatchObject({ url: OWN.url }));
    await until(() => expect(told.length).toBeGreaterThan(0));
    // They go on looking, and there is nothing more to tell.
    const { checkedAt } = await store.read();
    await until(async () => expect((await store.read()).checkedAt).toBeGreaterThan(checkedAt + 300));
    expect(told.map(({ type }) => type)).toEqual(['subscription.created']);
  } finally {
    await Promise.all(all.map(({ keeper }) => keeper.stop()));
  }
});
