import { describe, expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../../../src/app/runtime.js';
import { accountOf } from '../../../../src/base/config/index.js';
import { createEvents } from '../../../../src/base/events/events.js';
import {
  simulatedConfig,
  simulatorLanes,
  simulatorRecords,
} from '../../../../src/surfaces/cli/open/simulated-config.js';
import { CONTRACT } from '../../../call-records/contract/contract.js';
import { january } from '../../../call-records/service.js';
import { scene } from '../../../scene/scene.js';

const { lanesFile, prefix, startSimulator, url, write } = scene('cli-simulated-config');

const address = {
  messagingBaseUrl: 'http://127.0.0.1:1/smsmessaging/v1',
  accountBaseUrl: 'http://127.0.0.1:1',
  v3: { messagingBaseUrl: 'http://127.0.0.1:1/sms/v3', tokenUrl: 'http://127.0.0.1:1/oauth2/token' },
};

describe('The configuration for a simulator', () => {
  const env = { API_KEY: 'the-real-key', HOURLY_QUOTA: '50', MESSAGING_BASE_URL: 'https://real.example' };
  const config = simulatedConfig(env, address, 'redis://127.0.0.1:9');

  test('has no real address and no real credentials', () => {
    expect(JSON.stringify(config)).not.toMatch(/real/);
    expect(config.messagingBaseUrl).toBe(address.messagingBaseUrl);
  });

  test('keeps simulated campaigns apart from real ones', () =>
    expect(config.redisPrefix).toBe('volley-simulator'));

  test('keeps accounts, so that logins and refreshes happen', () => {
    const account = simulatedConfig(
      { ACCOUNT_USERNAME: 'real-user', ACCOUNT_PASSWORD: 'real-password' },
      address,
      'redis://127.0.0.1:9',
    );
    expect(JSON.stringify(account)).not.toMatch(/real/);
    expect(simulatorLanes(account)).toEqual({
      keys: [{ account: 'simulator-default', quota: null, windowMs: 3_600_000 }],
      accounts: [{ username: 'simulator-default', password: 'simulator' }],
      clients: [],
    });
  });

  test('keeps the child accounts of a reseller, whose lanes share its one user', () => {
    const account = (targetAccountId: string) => ({
      username: 'real-user',
      password: 'real-password',
      targetAccountId,
    });
    const lanes = lanesFile([
      { name: 'shop', account: account('CHILD-7'), hourlyQuota: 50 },
      { name: 'bank', account: account('CHILD-8') },
      'key',
    ]);
    const resellers = simulatedConfig({ LANES_FILE: lanes }, address, 'redis://127.0.0.1:9');
    expect(JSON.stringify(resellers)).not.toMatch(/real/);
    expect(resellers.lanes.map(({ credentials }) => accountOf(credentials)?.targetAccountId)).toEqual([
      'CHILD-7',
      'CHILD-8',
      undefined,
    ]);
    expect(simulatorLanes(resellers)).toEqual({
      keys: [
        { account: 'CHILD-7', quota: 50, windowMs: 3_600_000 },
        { account: 'CHILD-8', quota: null, windowMs: 3_600_000 },
        { key: 'simulator-key', quota: null, windowMs: 3_600_000 },
      ],
      accounts: [
        {
          username: 'simulator-shop',
          password: 'simulator',
          reseller: true,
          targetAccountIds: ['CHILD-7', 'CHILD-8'],
        },
      ],
      clients: [],
    });
  });

  test('gives the simulator the quota of each lane', () => {
    expect(simulatorLanes(config)).toEqual({
      keys: [{ key: 'simulator-default', quota: 50, windowMs: 3_600_000 }],
      accounts: [],
      clients: [],
    });
  });

  test('keeps the clients of profile v3, with invented credentials and the address of that version', () => {
    const client = { id: 'real-id', secret: 'real-secret', product: 'p' };
    const lanes = lanesFile([{ name: 'new', profile: 'v3', client }]);
    const { API_KEY: _, ...rest } = env;
    const clients = simulatedConfig({ ...rest, LANES_FILE: lanes }, address, '');
    expect(clients.tokenUrl).toBe('http://127.0.0.1:1/oauth2/token');
    expect(clients.lanes.map(({ baseUrl }) => baseUrl)).toEqual(['http://127.0.0.1:1/sms/v3']);
    expect(JSON.stringify(clients)).not.toContain('real-');
    expect(simulatorLanes(clients)).toEqual({
      keys: [{ account: 'simulator-new', quota: 50, windowMs: 3_600_000 }],
      accounts: [],
      clients: [{ id: 'simulator-new', secret: 'simulator', products: ['p'] }],
    });
  });

  test('refuses a simulator on another machine', () => {
    expect(() => simulatedConfig(env, { ...address, messagingBaseUrl: 'https://real.example' }, '')).toThrow(
      /on this machine/,
    );
  });
});

test('The OAuth 2 client of a contract gets its tokens from the simulator, with an invented secret', async () => {
  const withToken = JSON.stringify(CONTRACT).replaceAll('{apiKey}', '{accessToken}');
  // Nothing listens there.
  const client = { tokenUrl: 'http://127.0.0.1:9/token', scope: 'cdr read' };
  const RECORDS_CONTRACT = write('contract.json', { ...JSON.parse(withToken), client });
  const env = {
    REDIS_PREFIX: prefix,
    ACCOUNT_USERNAME: 'real-user',
    ACCOUNT_PASSWORD: 'real-password',
    RECORDS_CONTRACT,
    RECORDS_CLIENT_ID: 'real-client',
    RECORDS_CLIENT_SECRET: 'real-secret',
  };
  const planned = simulatedConfig(env, address, url);
  const simulator = await startSimulator({
    ...simulatorLanes(planned),
    ...(await simulatorRecords(planned)),
  });
  const events = createEvents({ level: 'silent' });
  const volley = createVolley({ config: simulatedConfig(env, simulator, url), events });
  onTestFinished(() => volley.close());

  expect(await volley.records.request(january(1))).toMatchObject({ state: 'pending' });
  expect([...simulator.records()]).toMatchObject([{ key: 'account:simulator-records' }]);
  expect(simulator.summary()).toMatchObject({ clientTokens: 1, clientTokensGranted: 1, logins: 0 });
});
