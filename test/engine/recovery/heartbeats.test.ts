import { expect, test } from 'vitest';
import { serverTime } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { DATA_FORMAT, heartbeats } from '../../../src/engine/recovery/heartbeats.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis } = testRedis('heartbeats');
const keys = keyNames(prefix);
const workers = heartbeats(redis, keys, Date.now);

test('A worker is listed with its settings until it leaves, beside one of a version that published none', async () => {
  const older = { id: 'older', roles: ['send'], since: new Date().toISOString(), host: 'b', pid: 2 };
  await redis.zadd(keys.workers, await serverTime(redis), JSON.stringify(older));
  const leave = workers.start('newer', ['follow-up'], { settings: { version: '1.1.0' }, lacks: ['b'] });
  await expect.poll(() => workers.alive()).toHaveLength(2);
  expect(await workers.alive()).toEqual(
    expect.arrayContaining([
      { ...older, settings: {}, lacks: [], format: 1 },
      expect.objectContaining({
        id: 'newer',
        settings: { version: '1.1.0' },
        lacks: ['b'],
        format: DATA_FORMAT,
      }),
    ]),
  );
  await leave();
  expect(await workers.alive()).toEqual([{ ...older, settings: {}, lacks: [], format: 1 }]);
});

test('A heartbeat of a newer version is listed as far as it is understood, and others are ignored', async () => {
  const now = await serverTime(redis);
  const newer = { id: 'newer', roles: ['send', 'archive'], since: 5, settings: { version: '9', lanes: 3 } };
  const entries = [newer, { name: 'without an id' }, 'text', null].map((entry) => JSON.stringify(entry));
  for (const entry of [...entries, 'no JSON']) await redis.zadd(keys.workers, now, entry);
  expect((await workers.alive()).filter(({ id }) => id !== 'older')).toEqual([
    {
      id: 'newer',
      roles: ['send'],
      since: '',
      host: '',
      pid: 0,
      settings: { version: '9' },
      lacks: [],
      format: 1,
    },
  ]);
});

test('A dead process does not count as alive longer because the clock of Redis was set back', async () => {
  const keys = keyNames(`${prefix}-set-back`);
  const watched = heartbeats(redis, keys, Date.now);
  const now = await serverTime(redis);
  const [dead, alive] = ['dead', 'alive'].map((id) => JSON.stringify({ id, roles: ['work'] })) as [
    string,
    string,
  ];
  await redis.zadd(keys.workers, now + 3_600_000, dead, now, alive);
  expect((await watched.alive()).map(({ id }) => id).sort()).toEqual(['alive', 'dead']);
  expect(Number(await redis.zscore(keys.workers, dead))).toBeLessThan(now + 60_000);
  expect(Number(await redis.zscore(keys.workers, alive))).toBe(now);
});
