import { expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { loadConfig } from '../../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { openTokenSources } from '../../../src/engine/lane/credentials.js';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import { type Simulator, startSimulator } from '../../../src/tools/simulator/index.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { redis, url, prefix } = testRedis('resellers');
const ACCOUNTS = [
  { username: 'top', password: 'secret', accountId: 'TOP', reseller: true },
  { accountId: 'SHOP', parent: 'TOP' },
  { accountId: 'BANK', parent: 'SHOP' },
];

let count = 0;

/** Two lanes for two child accounts of one reseller, at a simulator that has both. */
async function reseller({ password = 'secret', shop = 'SHOP', bank = 'BANK' } = {}) {
  count += 1;
  const simulator = await startSimulator({
    accounts: ACCOUNTS,
    keys: [
      { account: 'SHOP', quota: 1 },
      { account: 'BANK', quota: 1 },
    ],
    tokens: { lockoutAfter: 3 },
  });
  onTestFinished(() => simulator.close());
  const account = (targetAccountId: string) => ({ username: 'top', password, targetAccountId });
  const lanes = [
    { name: 'shop', account: account(shop) },
    { name: 'bank', account: account(bank) },
  ];
  const environment = {
    LANES_FILE: 'lanes.json',
    MESSAGING_BASE_URL: simulator.messagingBaseUrl,
    ACCOUNT_BASE_URL: simulator.accountBaseUrl,
    REDIS_URL: url,
    REDIS_PREFIX: `${prefix}-${count}`,
  };
  const config = loadConfig(environment, { readFile: () => JSON.stringify(lanes) });
  const emitted: VolleyEvent[] = [];
  const events = createEvents({ level: 'silent' });
  events.onAny((event) => void emitted.push(event));
  const sources = openTokenSources({
    redis,
    keys: keyNames(config.redisPrefix),
    events,
    config: () => config,
  });
  onTestFinished(() => sources.close());
  const tokenOf = (lane: string) => sources.tokenSourceOf(lane).get();
  return { simulator, config, events, emitted, tokenOf };
}

async function send(simulator: Simulator, authorization: string) {
  const client = createMessagingClient({ baseUrl: simulator.messagingBaseUrl, timeoutMs: 10_000 });
  onTestFinished(() => client.close());
  const message = { sender: 'ACME', recipients: ['+447700900123'], text: 'Hi' };
  return (await client.send(message, { authorization }, { isExpired: () => false })).kind;
}

test('Each lane of a reseller gets the tokens of its child account, and uses the quota of that account alone', async () => {
  const { simulator, emitted, tokenOf } = await reseller();
  const shop = await tokenOf('shop');
  const bank = await tokenOf('bank');
  if (shop.kind !== 'token' || bank.kind !== 'token') throw new Error('no token');
  const outcomes = [];
  for (const { bearer } of [shop, shop, bank, bank])
    outcomes.push(await send(simulator, bearer.authorization));
  expect(outcomes).toEqual(['accepted', 'throttled', 'accepted', 'throttled']);
  expect(emitted.filter(({ type }) => type === 'token.loggedIn')).toEqual([
    { type: 'token.loggedIn', account: 'shop', targetAccount: 'SHOP', lifetime: '15m' },
    { type: 'token.loggedIn', account: 'bank', targetAccount: 'BANK', lifetime: '15m' },
  ]);
  const by = { action: 'login', byUser: 'top', byAccount: 'TOP' };
  expect(simulator.activity('SHOP')).toEqual([{ at: expect.any(Number), account: 'SHOP', ...by }]);
  expect(simulator.activity('BANK')).toEqual([{ at: expect.any(Number), account: 'BANK', ...by }]);
});

test('The lanes of a reseller share the login budget of its user: a wrong password costs two logins in total', async () => {
  const { simulator, tokenOf } = await reseller({ password: 'wrong' });
  const outcomes = [];
  for (const lane of ['shop', 'bank', 'shop', 'bank', 'shop']) outcomes.push((await tokenOf(lane)).kind);
  expect(outcomes.at(-1)).toBe('stopped');
  expect(outcomes.at(-2)).toBe('stopped');
  expect(simulator.summary().logins).toBe(2);
});

test('A wrong target account stops its own lane, names the account, and leaves the other lane alone', async () => {
  const { simulator, emitted, tokenOf } = await reseller({ bank: 'NOT-OURS' });
  const bank = await tokenOf('bank');
  expect(bank).toEqual({
    kind: 'stopped',
    reason: expect.stringMatching(/target account "NOT-OURS".*10117/),
  });
  expect(emitted).toContainEqual({
    type: 'token.refused',
    account: 'bank',
    targetAccount: 'NOT-OURS',
    reason: 'target account "NOT-OURS" not valid (10117)',
  });
  expect((await tokenOf('shop')).kind).toBe('token');
  expect(simulator.activity('NOT-OURS')).toBeUndefined();
});

test('A lane of a reseller that backs off does not stop the other, and both name their account', async () => {
  const { config } = await reseller();
  const volley = createVolley({ config });
  onTestFinished(() => volley.close());
  await volley.holdLane('shop');
  const lanes = (await volley.lanes()).map(({ name, state, targetAccount }) => ({
    name,
    state,
    targetAccount,
  }));
  expect(lanes).toEqual([
    { name: 'shop', state: 'held', targetAccount: 'SHOP' },
    { name: 'bank', state: 'open', targetAccount: 'BANK' },
  ]);
});
