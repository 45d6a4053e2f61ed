import { expect, test } from 'vitest';
import { type Config, loadConfig } from '../../../src/base/config/index.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import type { WorkerProcess } from '../../../src/engine/recovery/heartbeats.js';
import { laneSettings } from '../../../src/engine/recovery/lane-settings.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis } = testRedis('lane-settings');
const ONE_LANE = {
  MESSAGING_BASE_URL: 'https://sms.example/v1',
  HOURLY_QUOTA: '100',
  API_KEY: 'a-secret-key',
};

/** Workers that have published these configurations, the last of which started last. */
async function published(name: string, ...configs: readonly Config[]) {
  const keys = keyNames(`${prefix}-${name}`);
  await redis.set(keys.registry.secret, 'the secret of the installation');
  const settings = laneSettings(redis, keys);
  const workers = configs.map(
    (_, at): WorkerProcess => ({
      ...{ id: `w${at}`, roles: ['send'], since: new Date(at).toISOString(), host: `host-${at}`, pid: at },
      ...{ settings: {}, lacks: [], format: 1 },
    }),
  );
  for (const [at, config] of configs.entries()) await settings.publish(`w${at}`, config, workers);
  return { keys, settings, workers };
}

test('A worker with another API key than the configuration is named with the setting, never with a value', async () => {
  const { keys, settings, workers } = await published('key', loadConfig(ONE_LANE));
  const corrected = loadConfig({ ...ONE_LANE, API_KEY: 'another-key' });
  expect(await settings.differences(workers, corrected)).toEqual([
    { lane: 'default', settings: ['API_KEY'], workers: [{ id: 'w0', host: 'host-0', pid: 0 }], than: null },
  ]);
  expect(await settings.differences(workers, loadConfig(ONE_LANE))).toEqual([]);
  const stored = JSON.stringify(await redis.hgetall(keys.workerSettings));
  expect(stored).toContain('apiKey');
  expect(stored).not.toMatch(/secret-key|sms\.example/);
});

test('Without a configuration, workers are compared with the one that started last', async () => {
  const account = { ACCOUNT_USERNAME: 'anna', ACCOUNT_PASSWORD: 'old' };
  const { API_KEY: _key, ...rest } = ONE_LANE;
  const { settings, workers } = await published(
    'newest',
    loadConfig({ ...rest, ...account }),
    loadConfig({ ...rest, ...account, ACCOUNT_PASSWORD: 'new', HOURLY_QUOTA: '200' }),
  );
  expect(await settings.differences(workers, undefined)).toEqual([
    {
      lane: 'default',
      settings: ['ACCOUNT_PASSWORD', 'HOURLY_QUOTA'],
      workers: [{ id: 'w0', host: 'host-0', pid: 0 }],
      than: { id: 'w1', host: 'host-1', pid: 1 },
    },
  ]);
});

test('Only the lanes that differ are listed, and a worker that does not serve a lane does not differ', async () => {
  const lanesOf = (...lanes: readonly object[]): Config =>
    loadConfig(
      { MESSAGING_BASE_URL: 'https://sms.example/v1', LANES_FILE: 'lanes.json' },
      { readFile: () => JSON.stringify({ lanes }) },
    );
  const [a, b] = [
    { name: 'a', apiKey: 'one' },
    { name: 'b', apiKey: 'two', pollShare: 0.3 },
  ];
  const { settings, workers } = await published('lanes', lanesOf(a), lanesOf(a, b));
  const found = await settings.differences(workers, lanesOf(a, { ...b, apiKey: 'three', pollShare: 0.4 }));
  expect(found).toMatchObject([
    { lane: 'b', settings: ['apiKey', 'pollShare'], workers: [{ id: 'w1' }], than: null },
  ]);
});

test('Workers that have stopped, or do not run any more, are forgotten', async () => {
  const { keys, settings, workers } = await published('gone', loadConfig(ONE_LANE), loadConfig(ONE_LANE));
  await settings.withdraw('w1');
  expect(await redis.hkeys(keys.workerSettings)).toEqual(['w0']);
  await settings.publish('w2', loadConfig(ONE_LANE), workers.slice(1));
  expect(await redis.hkeys(keys.workerSettings)).toEqual(['w2']);
});
