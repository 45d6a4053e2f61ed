import { expect, onTestFinished, test, vi } from 'vitest';
import { systemAlarm } from '../../../src/base/clock.js';
import type { CallbackSettings } from '../../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { isDue, reconcileSubscriptions } from '../../../src/engine/notifications/subscription-reconciler.js';
import { subscriptionStatusStore } from '../../../src/engine/notifications/subscription-status.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { atSimulator, CALLBACK, clientOf, FOREIGN, OWN } from './subscribing.js';

const { redis, prefix } = testRedis('keep-subscription');
const { simulator, serviceOf, held } = atSimulator();
/** Waits long enough for a busy machine. */
const until = (check: () => unknown) => vi.waitFor(check, SOON);

const TIMES = { intervalMs: 300_000, silenceMs: 60_000 };
const CHECKED = {
  state: 'ours',
  detail: '',
  via: '',
  fingerprint: '',
  checkedAt: 1_000_000,
  oursSince: 0,
  heardAt: 0,
  now: 1_000_000,
} as const;
const some = async () => 3;
const none = async () => 0;

test.each([
  ['it was never checked', { checkedAt: 0 }, none, false, true],
  ['it is ours and was just checked', { now: 1_010_000 }, some, false, false],
  ['it is ours and the interval has passed', { now: 1_300_000 }, none, false, true],
  ['the clock was set back to before the last check', { now: 400_000 }, none, false, true],
  ['no notification came although requests await reports', { now: 1_060_000 }, some, false, true],
  ['no notification came and no request awaits a report', { now: 1_060_000 }, none, false, false],
  ['a notification came recently', { now: 1_060_000, heardAt: 1_050_000 }, some, false, false],
  ['it is foreign', { now: 1_060_000, state: 'foreign' as const }, none, false, true],
  ['it is foreign and was just checked', { now: 1_010_000, state: 'foreign' as const }, none, false, false],
  ['the process has just started', { now: 1_010_000 }, none, true, true],
  ['another process that has just started checked it', { now: 1_001_000 }, none, true, false],
])('Whether a check is due if %s', async (_, change, awaiting, isFirst, due) => {
  expect(await isDue({ ...CHECKED, ...change }, awaiting, TIMES, isFirst)).toBe(due);
});

test('The status says since when the subscription has been ours without a break', async () => {
  const store = subscriptionStatusStore(redis, keyNames(prefix), 'since');
  const found = async (state: 'ours' | 'foreign') => {
    await store.write({ state, detail: '', via: '', fingerprint: '' });
    return store.read();
  };
  const first = await found('ours');
  expect(first.oursSince).toBe(first.checkedAt);
  await until(async () => expect((await found('ours')).checkedAt).toBeGreaterThan(first.checkedAt));
  expect((await store.read()).oursSince).toBe(first.oursSince);
  expect(await found('foreign')).toMatchObject({ state: 'foreign', oursSince: 0 });
  expect((await found('ours')).oursSince).toBeGreaterThan(first.oursSince);
});

/** Lanes that never change. */
const always = <Lane>(lanes: readonly Lane[]) => ({ current: () => lanes, onChange: () => () => {} });

/** Reconciles a lane's subscription at the simulator, with checks in quick succession. */
function reconciling(lane: string, process: string, emitted: VolleyEvent[]) {
  const events = createEvents({ level: 'silent' });
  events.onAny((event) => emitted.push(event));
  const status = subscriptionStatusStore(redis, keyNames(prefix), lane);
  const reconciler = reconcileSubscriptions({
    lanes: always([{ of: 'callback' as const, name: lane, subscription: serviceOf(), status }]),
    events,
    alarm: systemAlarm,
    process,
    intervalMs: 100,
    silenceMs: 50,
    leaseMs: 60,
  });
  return { reconciler, status };
}

test('A process with a new CALLBACK_URL subscribes it, even right after a check of the old one', async () => {
  const store = subscriptionStatusStore(redis, keyNames(prefix), 'moved');
  const reconcile = (process: string, callback: CallbackSettings) => {
    const reconciler = reconcileSubscriptions({
      lanes: always([
        { of: 'callback' as const, name: 'moved', subscription: serviceOf(callback), status: store },
      ]),
      events: createEvents({ level: 'silent' }),
      alarm: systemAlarm,
      process,
      intervalMs: 300_000,
      silenceMs: 60_000,
      leaseMs: 60_000,
    });
    onTestFinished(() => reconciler.stop());
  };
  const isHeld = async (url: string) =>
    until(async () => expect(await held()).toMatchObject({ url: expect.stringContaining(url) }));
  reconcile('before', { ...CALLBACK, url: 'https://old.example/in' });
  await isHeld('https://old.example/in/');
  await until(async () => expect(await store.acquireLease('test', 60_000)).toBe(true));
  await store.releaseLease('test');
  reconcile('after', CALLBACK);
  await isHeld(OWN.url);
});

test('The reconciler creates the subscription, creates it again after a loss, and leaves a foreign one alone', async () => {
  const emitted: VolleyEvent[] = [];
  const { reconciler, status } = reconciling('kept', 'a', emitted);
  try {
    await until(async () => expect(await held()).toMatchObject({ url: OWN.url }));
    await clientOf(simulator().messagingBaseUrl).remove({ authorization: 'key' });
    await until(async () => expect(await held()).toMatchObject({ url: OWN.url }));
    // The service holds it before the reconciler gets the response.
    await until(() =>
      expect(emitted.map(({ type }) => type)).toEqual(['subscription.created', 'subscription.created']),
    );
    expect(await status.read()).toMatchObject({ state: 'ours' });

    const client = clientOf(simulator().messagingBaseUrl);
    await until(async () => {
      await client.remove({ authorization: 'key' });
      expect(await client.create(FOREIGN, { authorization: 'key' })).toEqual({ kind: 'created' });
    });
    await until(async () => expect(await status.read()).toMatchObject({ state: 'foreign' }));
    await until(async () => {
      const { now, checkedAt } = await status.read();
      expect(now - checkedAt).toBeGreaterThan(0);
      expect(emitted.filter(({ type }) => type === 'subscription.foreign')).toHaveLength(1);
    });
    expect(await held()).toMatchObject(FOREIGN);
  } finally {
    await reconciler.stop();
  }
});

test('Of several processes, one at a time reconciles a lane', async () => {
  const emitted: VolleyEvent[] = [];
  const all = ['a', 'b', 'c', 'd'].map((process) => reconciling('shared', process, emitted));
  const store = subscriptionStatusStore(redis, keyNames(prefix), 'shared');
  try {
    await until(async () => expect(await held()).toMatchObject({ url: OWN.url }));
    await until(() => expect(emitted.length).toBeGreaterThan(0));
    // The checks go on and find nothing to report.
    const { checkedAt } = await store.read();
    await until(async () => expect((await store.read()).checkedAt).toBeGreaterThan(checkedAt + 300));
    expect(emitted.map(({ type }) => type)).toEqual(['subscription.created']);
  } finally {
    await Promise.all(all.map(({ reconciler }) => reconciler.stop()));
  }
});
