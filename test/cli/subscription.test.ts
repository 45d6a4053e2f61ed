import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { LaneStatus } from '../../src/campaign/views.js';
import { judgeOff, judgeSubscription } from '../../src/cli/doctor-service.js';
import { createSubscriptionClient } from '../../src/gateway/subscriptions.js';
import { startSimulator } from '../../src/simulator/index.js';
import { testRedis } from '../redis/test-redis.js';
import { commandLine } from './command-line.js';

const { url, prefix } = testRedis('cli-subscription');
const cwd = mkdtempSync(join(tmpdir(), 'volley-subscription-'));
const simulator = await startSimulator({ keys: [{ key: 'key' }] });
afterAll(() => simulator.close());
const service = {
  REDIS_URL: url,
  REDIS_PREFIX: prefix,
  MESSAGING_BASE_URL: simulator.messagingBaseUrl,
  API_KEY: 'key',
};
const callback = {
  CALLBACK_URL: 'https://volley.example/in',
  CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
};
const { volley, json } = commandLine(cwd, { ...service, ...callback });

const client = createSubscriptionClient({ baseUrl: simulator.messagingBaseUrl, timeoutMs: 1_000 });
afterAll(() => client.close());
const FOREIGN = { url: 'https://other.example/hook/their-secret', securityToken: 'theirs' };
beforeEach(async () => {
  await client.remove('key');
});

test('a subscription is made, shown and ended, without a secret in what is said', async () => {
  expect(await json('subscription', 'get')).toEqual({
    exit: 0,
    said: { lane: 'default', state: 'none', lastNotificationAt: null },
  });
  const made = await volley('subscription', 'create');
  expect([made.exit, made.stdout]).toEqual([0, 'Lane default: subscribed at https://volley.example/in/….\n']);
  const shown = await volley('subscription', 'get');
  expect(shown.stdout).toBe(
    'Lane default: notifications come to https://volley.example/in/…. No notification has come yet.\n',
  );
  const there = await client.get('key');
  if (there.kind !== 'found') throw new Error(`it is ${there.kind}`);
  expect(there.url).toMatch(/^https:\/\/volley\.example\/in\/[\w-]{43}$/);
  expect(made.stdout + shown.stdout).not.toContain(there.url.slice(-43));
  expect(await json('subscription', 'create')).toMatchObject({ exit: 0, said: { outcome: 'already' } });
  expect(await json('subscription', 'delete')).toMatchObject({ exit: 0, said: { outcome: 'deleted' } });
  expect(await json('subscription', 'delete')).toMatchObject({ exit: 0, said: { outcome: 'none' } });
});

test('somebody else’s is left alone, with exit code 3 and the way to replace it', async () => {
  await client.create(FOREIGN, 'key');
  expect(await json('subscription', 'get')).toMatchObject({ exit: 0, said: { state: 'foreign' } });
  const refused = await volley('subscription', 'create');
  expect(refused.exit).toBe(3);
  expect(refused.stdout).toMatch(/somebody else’s .*https:\/\/other\.example\/hook\/….*--force/);
  expect(refused.stdout).not.toContain('their-secret');
  expect((await volley('subscription', 'delete')).exit).toBe(3);
  expect(await client.get('key')).toMatchObject(FOREIGN);
  expect(await json('subscription', 'create', '--force')).toMatchObject({
    exit: 0,
    said: { outcome: 'created', replaced: 'foreign' },
  });
});

test('without CALLBACK_URL nobody says whose subscription is there', async () => {
  await volley('subscription', 'create');
  const without = commandLine(cwd, service);
  const shown = await without.volley('subscription', 'get');
  expect([shown.exit, shown.stdout]).toEqual([
    0,
    'Lane default: notifications go to https://volley.example/in/…. CALLBACK_URL is not set here, so whether that is ours cannot be told. No notification has come yet.\n',
  ]);
  const kept = await without.volley('subscription', 'delete');
  expect([kept.exit, kept.stdout]).toEqual([3, expect.stringMatching(/left alone.*cannot be told/)]);
});

test('what is wrong is said in one line', async () => {
  const without = commandLine(cwd, service);
  const unset = await without.volley('subscription', 'create');
  expect([unset.exit, unset.stderr]).toEqual([2, expect.stringMatching(/CALLBACK_URL is not set/)]);
  const lane = await volley('subscription', 'get', '--lane', 'nowhere');
  expect([lane.exit, lane.stderr]).toEqual([expect.any(Number), expect.stringMatching(/nowhere.*default/)]);
  expect(lane.exit).toBeGreaterThan(0);
  expect((await volley('subscription', 'get', '--froce')).exit).toBe(2);
  const wrongKey = commandLine(cwd, { ...service, ...callback, API_KEY: 'another' });
  expect(await wrongKey.json('subscription', 'create')).toMatchObject({
    exit: 1,
    said: { outcome: 'refused', reason: expect.stringContaining('401') },
  });
});

function laneOf(sent: number, awaitingReports: number): Pick<LaneStatus, 'quota' | 'awaitingReports'> {
  const quota = {
    configured: 100,
    learned: null,
    limit: 100,
    used: { send: sent, poll: 0 },
    inFlight: 0,
    nextPermitAt: null,
    permitsToCome: [],
  };
  return { quota, awaitingReports };
}

const looked = {
  state: 'ours',
  detail: '',
  fingerprint: '',
  checkedAt: 9_000_000,
  oursSince: 8_000_000,
  heardAt: 0,
  now: 9_060_000,
} as const;
test.each([
  ['never looked at', { checkedAt: 0, state: '' as const }, 'warn', /not subscribed yet/],
  ['ours', {}, 'warn', /subscribed 17m 40s ago, but none has come yet, though requests were sent/],
  ['ours only just, of requests before it', { oursSince: 9_046_000 }, 'ok', /none has come yet$/],
  ['ours, nobody knows since when', { oursSince: 0 }, 'warn', /subscribed, but none has come yet/],
  ['ours and silent for long', { heardAt: 60_000 }, 'warn', /none has come for 2h 30m, though/],
  ['ours and heard of', { heardAt: 9_030_000 }, 'ok', /the last came 30s ago/],
  ['not looked at any more', { now: 19_000_000 }, 'warn', /ago/],
  ['somebody else’s', { state: 'foreign' as const, detail: 'https://a.example/…' }, 'fail', /a\.example/],
  ['refused', { state: 'refused' as const, detail: 'The service answered 406.' }, 'fail', /406/],
])('the doctor on one that is %s', (_, change, level, found) => {
  const check = judgeSubscription('main', { ...looked, ...change }, laneOf(3, 3));
  expect([check.level, check.found]).toEqual([level, expect.stringMatching(found)]);
  if (level !== 'ok') expect(check.todo).toContain('volley');
});

test('the doctor without CALLBACK_URL tells of lanes that workers with one have subscribed', () => {
  expect(judgeOff([])).toMatchObject({ level: 'ok', found: expect.stringContaining('off') });
  expect(judgeOff(['main', 'reminders'])).toMatchObject({
    level: 'warn',
    found: 'CALLBACK_URL is not set here, but workers have subscribed lanes main, reminders',
  });
});

test('the doctor expects no notification where nothing was sent, nor where all is reported', () => {
  expect(judgeSubscription('main', looked, laneOf(0, 0))).toMatchObject({ level: 'ok' });
  expect(judgeSubscription('main', { ...looked, heardAt: 60_000 }, laneOf(3, 0))).toMatchObject({
    level: 'ok',
    found: expect.stringContaining('the last came 2h 30m ago'),
  });
});
