import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { testRedis } from '../base/redis/test-redis.js';
import type { Kind } from './fleet.js';
import { recipients } from './recipients.js';
import { finished, launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('settings');
const THREE: readonly Kind[] = ['all', 'all', 'all'];
const account = { username: 'anna', password: 'right' };

test('A lane whose API key the service refuses stops, and continues when the key is fixed and the lane resumed', {
  timeout: 90_000,
}, async () => {
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: `${prefix}-key`,
    workers: ['all', 'all'],
    simulator: { keys: [{ key: 'another' }], deliveryTime: 100 },
  });
  const { volley, simulator } = fleet;
  const id = await launch(fleet, { recipients: recipients(100), message: 'Sale' });
  const stopped = await vi.waitUntil(
    async () => {
      const status = await volley.status(id);
      return status.blockedBy?.until === null ? status : undefined;
    },
    { timeout: 30_000 },
  );
  expect(stopped.blockedBy?.reason).toMatch(
    /does not accept the API key.*401.*correct it and restart the workers/,
  );
  expect(stopped.waitingFor).toBe('lane');
  expect(stopped.counts.planned + stopped.counts.sending).toBe(100);
  const [lane] = await volley.lanes();
  expect(lane?.state).toBe('stopped');

  // If an operator resumes the lane without a fix, one request is refused, not a whole burst.
  const settled = await vi.waitUntil(
    async () => {
      const status = await volley.status(id);
      return status.counts.sending === 0 ? status : undefined;
    },
    { timeout: 30_000 },
  );
  await volley.resumeLane(lane?.name ?? '');
  const again = await vi.waitUntil(
    async () => {
      const status = await volley.status(id);
      const hasRetried = status.requests.send > settled.requests.send;
      return hasRetried && status.counts.sending === 0 && status.waitingFor === 'lane' ? status : undefined;
    },
    { timeout: 30_000 },
  );
  expect(again.requests.send).toBe(settled.requests.send + 1);

  await simulator.configure({ keys: [{ key: 'key' }] });
  await volley.resumeLane(lane?.name ?? '');
  const final = await finished(volley, id, 60_000);
  expect(final.counts.deliveredToTerminal).toBe(100);
  expect((await simulator.summary()).recipients).toBe(100);
});

test('A lane whose variable is missing does not keep the others from being served, and its campaigns say so', {
  timeout: 90_000,
}, async () => {
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: `${prefix}-missing`,
    workers: ['all'],
    settings: { B_KEY: 'another' },
    lanes: [
      { name: 'a', apiKey: 'key' },
      { name: 'b', apiKeyEnv: 'B_KEY' },
    ],
    own: async () => ({ B_KEY: '' }),
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100 },
  });
  const { volley } = fleet;
  const [served, unserved] = await Promise.all(
    ['a', 'b'].map((lane) => launch(fleet, { lane, recipients: recipients(5), message: 'Sale' })),
  );
  expect((await finished(volley, served ?? '', 60_000)).counts.deliveredToTerminal).toBe(5);
  const { blockedBy, waitingFor } = await volley.status(unserved ?? '');
  expect(blockedBy?.reason).toMatch(/^no worker that runs has the credentials of lane b; /);
  expect(waitingFor).toBe('workers');
  expect(fleet.logged('config.hint').map(({ hint }) => hint)).toEqual([
    expect.stringMatching(
      /lane "b": apiKeyEnv names B_KEY, which is not set .* serves only the other lanes$/,
    ),
  ]);
});

test('A wrong password costs the whole fleet two logins, then the lane stops with the reason', {
  timeout: 90_000,
}, async () => {
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: `${prefix}-password`,
    workers: THREE,
    settings: { ACCOUNT_USERNAME: 'anna', ACCOUNT_PASSWORD: 'wrong' },
    simulator: { accounts: [account], keys: [{ account: 'anna' }] },
  });
  const { volley, simulator } = fleet;
  const id = await launch(fleet, { recipients: recipients(100), message: 'Sale' });
  const stopped = await vi.waitUntil(
    async () => {
      const status = await volley.status(id);
      return status.blockedBy?.until === null ? status : undefined;
    },
    { timeout: 30_000 },
  );
  expect(stopped.blockedBy?.reason).toMatch(/password/);
  expect((await simulator.summary()).logins).toBe(2);
  // If an operator resumes the lane without a fix, there is no further login, not even after two sweeps.
  const [lane] = await volley.lanes();
  await volley.resumeLane(lane?.name ?? '');
  await delay(4_500);
  expect((await simulator.summary()).logins).toBe(2);
  expect((await volley.status(id)).blockedBy?.reason).toMatch(/password/);
});

test('Each expiry of the token costs the whole fleet one refresh', { timeout: 90_000 }, async () => {
  const lifetimeMs = 3_000;
  const count = 1_300;
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: `${prefix}-expiry`,
    workers: THREE,
    settings: { ACCOUNT_USERNAME: account.username, ACCOUNT_PASSWORD: account.password },
    simulator: {
      accounts: [account],
      keys: [{ account: 'anna' }],
      tokens: { accessLifetimeMs: lifetimeMs },
      latency: 200,
      deliveryTime: 300,
    },
  });
  const { volley, simulator } = fleet;
  const launchedAt = Date.now();
  const id = await launch(fleet, { recipients: recipients(count), message: 'Sale' });
  const final = await finished(volley, id, 50_000);
  expect(final.counts.deliveredToTerminal).toBe(count);
  const summary = await simulator.summary();
  const tookMs = Date.now() - launchedAt;
  // A token is refreshed after 85 % of its lifetime, which bounds the number of refreshes.
  const maxRefreshes = Math.floor(tookMs / (0.85 * lifetimeMs));
  console.info(`${summary.refreshes} refreshes in ${tookMs} ms; a token is valid for ${lifetimeMs} ms`);
  expect(summary.logins).toBe(1);
  expect(summary.refreshes).toBeGreaterThanOrEqual(2);
  expect(summary.refreshes).toBeLessThanOrEqual(maxRefreshes);
  expect(summary.refreshesGranted).toBe(summary.refreshes);
  expect(summary.reusedRefreshTokens).toBe(0);
  expect(summary.recipients).toBe(count);
});
