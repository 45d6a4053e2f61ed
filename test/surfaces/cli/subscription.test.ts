import { afterAll, beforeEach, expect, test } from 'vitest';
import type { LaneStatus } from '../../../src/campaign/views.js';
import { createSubscriptionClient } from '../../../src/service/client/subscriptions.js';
import { checkOff, checkSubscription } from '../../../src/surfaces/cli/doctor/notifications.js';
import { scene } from '../../scene/scene.js';

const { shell, startSimulator } = scene('cli-subscription', { settings: { API_KEY: 'key' } });
const { messagingBaseUrl, settings: service } = await startSimulator();
const callback = {
  CALLBACK_URL: 'https://volley.example/in',
  CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
};
const { volley, json } = shell({ ...service, ...callback });

const client = createSubscriptionClient({ baseUrl: messagingBaseUrl, timeoutMs: 1_000 });
afterAll(() => client.close());
const FOREIGN = { url: 'https://other.example/hook/their-secret', securityToken: 'theirs' };
beforeEach(async () => {
  await client.remove({ authorization: 'key' });
});

test('A subscription is created, shown, and deleted, and no output contains a secret', async () => {
  expect(await json('subscription', 'get')).toEqual({
    exit: 0,
    output: { lane: 'default', state: 'none', lastNotificationAt: null },
  });
  const made = await volley('subscription', 'create');
  expect([made.exit, made.stdout]).toEqual([0, 'Lane default: subscribed at https://volley.example/in/….\n']);
  const shown = await volley('subscription', 'get');
  expect(shown.stdout).toBe(
    'Lane default: the service sends notifications to https://volley.example/in/…. No notification has arrived yet.\n',
  );
  const there = await client.get({ authorization: 'key' });
  if (there.kind !== 'found') throw new Error(`unexpected: ${there.kind}`);
  expect(there.url).toMatch(/^https:\/\/volley\.example\/in\/[\w-]{43}$/);
  expect(made.stdout + shown.stdout).not.toContain(there.url.slice(-43));
  expect(await json('subscription', 'create')).toMatchObject({ exit: 0, output: { outcome: 'already' } });
  expect(await json('subscription', 'delete')).toMatchObject({ exit: 0, output: { outcome: 'deleted' } });
  expect(await json('subscription', 'delete')).toMatchObject({ exit: 0, output: { outcome: 'none' } });
});

test('Another system’s subscription is left alone, with exit code 3 and the command to replace it', async () => {
  await client.create(FOREIGN, { authorization: 'key' });
  expect(await json('subscription', 'get')).toMatchObject({ exit: 0, output: { state: 'foreign' } });
  const refused = await volley('subscription', 'create');
  expect(refused.exit).toBe(3);
  expect(refused.stdout).toMatch(/another system’s .*https:\/\/other\.example\/hook\/….*--force/);
  expect(refused.stdout).not.toContain('their-secret');
  expect((await volley('subscription', 'delete')).exit).toBe(3);
  expect(await client.get({ authorization: 'key' })).toMatchObject(FOREIGN);
  expect(await json('subscription', 'create', '--force')).toMatchObject({
    exit: 0,
    output: { outcome: 'created', replaced: 'foreign' },
  });
});

test('Without CALLBACK_URL, the owner of a subscription is unknown', async () => {
  await volley('subscription', 'create');
  const without = shell(service);
  const shown = await without.volley('subscription', 'get');
  expect([shown.exit, shown.stdout]).toEqual([
    0,
    'Lane default: the service sends notifications to https://volley.example/in/…. CALLBACK_URL is not set here, so Volley cannot tell whether it owns that subscription. No notification has arrived yet.\n',
  ]);
  const kept = await without.volley('subscription', 'delete');
  expect([kept.exit, kept.stdout]).toEqual([3, expect.stringMatching(/left alone.*cannot tell/)]);
});

test('A subscription that the service refuses is reported with its answer', async () => {
  const wrongKey = shell({ ...service, ...callback, API_KEY: 'another' });
  expect(await wrongKey.json('subscription', 'create')).toMatchObject({
    exit: 1,
    output: { outcome: 'refused', reason: expect.stringContaining('401') },
  });
});

function laneOf(sent: number, awaitingReports: number): Pick<LaneStatus, 'quota' | 'awaitingReports'> {
  const quota = {
    configured: 100,
    learned: null,
    limit: 100,
    span: '1h',
    used: { send: sent, poll: 0 },
    inFlight: 0,
    keptForPolls: 0,
    nextPermitAt: null,
    nextPermits: 0,
    permitsToCome: [],
  };
  return { quota, awaitingReports };
}

const at = (ms: number): string => new Date(ms).toISOString();
const checked = {
  state: 'ours',
  detail: '',
  checkedAt: at(9_000_000),
  oursSince: at(8_000_000),
  heardAt: null,
  now: at(9_060_000),
} as const;
test.each([
  ['never checked', { checkedAt: null, state: null }, 'warn', /not subscribed yet/],
  ['ours', {}, 'warn', /subscribed 17m 40s ago, but none has arrived yet, although requests were sent/],
  ['ours, but newer than the requests', { oursSince: at(9_046_000) }, 'ok', /none has arrived yet$/],
  ['ours, since an unknown time', { oursSince: null }, 'warn', /subscribed, but none has arrived yet/],
  ['ours, but silent for long', { heardAt: at(60_000) }, 'warn', /none has arrived for 2h 30m, although/],
  ['ours, with a recent notification', { heardAt: at(9_030_000) }, 'ok', /the last arrived 30s ago/],
  ['no longer checked', { now: at(19_000_000) }, 'warn', /ago/],
  ['of another system', { state: 'foreign' as const, detail: 'https://a.example/…' }, 'fail', /a\.example/],
  ['refused', { state: 'refused' as const, detail: 'The service answered 406.' }, 'fail', /406/],
])('The doctor checks a subscription that is %s', (_, change, level, found) => {
  const check = checkSubscription('main', { ...checked, ...change }, laneOf(3, 3));
  expect([check.state, check.message]).toEqual([level, expect.stringMatching(found)]);
  if (level !== 'ok') expect(check.advice).toMatch(/volley|running worker/);
});

test('The doctor checks the subscription to messages of people, and expects none', () => {
  expect(checkSubscription('main', { ...checked, now: at(9_060_000) })).toMatchObject({
    state: 'ok',
    name: 'replies of lane main',
    message: 'subscribed when last checked, 1m ago',
  });
  expect(checkSubscription('main', { ...checked, state: 'foreign' }).state).toBe('fail');
});

test('Without CALLBACK_URL, the doctor names lanes that other workers have subscribed', () => {
  expect(checkOff([])).toMatchObject({ state: 'ok', message: expect.stringContaining('off') });
  expect(checkOff(['main', 'reminders'])).toMatchObject({
    state: 'warn',
    message: 'CALLBACK_URL is not set here, but workers have subscribed lanes main, reminders',
  });
});

test('The doctor expects no notification if nothing was sent or every report has arrived', () => {
  expect(checkSubscription('main', checked, laneOf(0, 0))).toMatchObject({ state: 'ok' });
  expect(checkSubscription('main', { ...checked, heardAt: at(60_000) }, laneOf(3, 0))).toMatchObject({
    state: 'ok',
    message: expect.stringContaining('the last arrived 2h 30m ago'),
  });
});
