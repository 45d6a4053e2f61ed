import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { scene } from '../scene/scene.js';
import { at, CONTRACT } from './contract/contract.js';
import { january, recordsSetting } from './service.js';

const redis = scene('records-credentials');
const { open } = redis;
const { simulator, env } = await recordsSetting(redis);

const account = { ACCOUNT_USERNAME: 'u', ACCOUNT_PASSWORD: 'p' };
const token = JSON.parse(JSON.stringify(CONTRACT).replaceAll('Bearer {apiKey}', 'Bearer {accessToken}'));

test('An access token comes from the token cache, and a refused one is replaced once', async () => {
  const other = await recordsSetting(
    { ...redis, prefix: `${redis.prefix}-account` },
    {
      contract: token,
      credentials: account,
      simulator: { tokens: { accessLifetimeMs: 2_000, withExp: false } },
    },
  );
  const { records: own } = other.volley;
  await own.request(january(1));
  const outcome = await other.volley.token('default')?.show();
  expect(outcome).toMatchObject({ generation: 1 });
  await expect
    .poll(
      async () =>
        (await own.request(january(2), { again: true })).state &&
        (await other.volley.token('default')?.show())?.generation,
    )
    .toBeGreaterThan(1);
  expect([...other.simulator.records()].every(({ key }) => key === 'account:u')).toBe(true);
  expect(other.events.filter(({ type }) => type === 'token.loggedIn')).toHaveLength(1);
});

test('A service that refuses every call (401) stops nothing: the token is good for sending', async () => {
  let calls = 0;
  const service = createServer((_, response) => {
    calls += 1;
    response.writeHead(401).end();
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void service.close());
  const { port } = z.object({ port: z.number() }).parse(service.address());
  const other = open({
    ...env,
    ...account,
    API_KEY: '',
    ACCOUNT_BASE_URL: simulator.accountBaseUrl,
    REDIS_PREFIX: `${redis.prefix}-refuses`,
    RECORDS_CONTRACT: redis.write('refusing.json', at(token, `http://127.0.0.1:${port}`)),
  });
  for (const day of [1, 2, 3]) {
    expect(await other.records.request(january(day))).toMatchObject({ state: 'refused' });
    expect(calls).toBe(2 * day);
    expect(await other.token('default')?.show()).toMatchObject({ state: 'usable', blockedReason: null });
  }
});

test('A contract with a client of its own gets its token there, whatever the credentials of the lane', async () => {
  const scope = 'cdr read';
  const withClient = (secret: string, name: string, contract = token) =>
    recordsSetting(
      { ...redis, prefix: `${redis.prefix}-${name}` },
      {
        contract: { ...contract, client: { tokenUrl: 'http://127.0.0.1:9/oauth2/token', scope } },
        simulator: { clients: [{ id: 'cdr', secret: 'right', scope }] },
        settings: { RECORDS_CLIENT_ID: 'cdr', RECORDS_CLIENT_SECRET: secret },
      },
    );
  const right = await withClient('right', 'client');
  expect(await right.volley.records.request(january(1))).toMatchObject({ state: 'pending' });
  expect([...right.simulator.records()]).toMatchObject([{ key: 'account:cdr' }]);
  expect(right.simulator.summary()).toMatchObject({ clientTokens: 1, clientTokensGranted: 1, logins: 0 });
  const headers = { 'X-Key': '{apiKey}', ...token.request.headers };
  const both = await withClient('right', 'client-and-key', {
    ...token,
    request: { ...token.request, headers },
  });
  expect(await both.volley.records.request(january(1))).toMatchObject({ state: 'pending' });
  expect([...both.simulator.records()]).toMatchObject([{ key: 'account:cdr' }]);
  const wrong = await withClient('wrong', 'wrong-client');
  await expect(wrong.volley.records.request(january(1))).rejects.toThrow(/client "cdr"/);
  expect([...wrong.simulator.records()]).toEqual([]);
  const none = await withClient('', 'no-client');
  await expect(none.volley.records.request(january(1))).rejects.toThrow(
    'RECORDS_CLIENT_ID and RECORDS_CLIENT_SECRET must be set: the contract has a client',
  );
});

test('A lane without the credential of the contract sends nothing', async () => {
  const key = await recordsSetting({ ...redis, prefix: `${redis.prefix}-none` }, { contract: token });
  await expect(key.volley.records.request(january(1))).rejects.toThrow(
    'the contract sends {accessToken}, and the lane default has no account',
  );
  expect([...key.simulator.records()]).toEqual([]);
});

test('A key that the service does not know is refused', async () => {
  const wrong = open({ ...env, API_KEY: 'other', REDIS_PREFIX: `${redis.prefix}-wrong` });
  expect(await wrong.records.request(january(1))).toMatchObject({
    state: 'refused',
    reason: expect.stringContaining('401'),
  });
});
