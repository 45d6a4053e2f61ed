import { expect, test } from 'vitest';
import { apiKeyService } from '../../src/access/api-keys.js';
import { loadLocalConfig } from '../../src/config/index.js';
import { createEvents } from '../../src/events/events.js';
import { openLanes } from '../../src/lane/lane-finder.js';
import { keyNames } from '../../src/redis/keys.js';
import { keysOf, testRedis } from '../redis/test-redis.js';

const { redis, prefix } = testRedis('api-keys');
let now = 1_700_000_000_000;
const apiKeys = apiKeyService({
  redis,
  keys: keyNames(prefix),
  finder: openLanes({
    redis,
    keys: keyNames(prefix),
    config: loadLocalConfig(
      { LANES_FILE: 'lanes.json' },
      { readFile: () => '[{ "name": "main", "apiKey": "m" }, { "name": "other", "apiKey": "o" }]' },
    ),
    events: createEvents({ level: 'silent' }),
    random: Math.random,
  }),
  clock: () => now,
});

test('A key is valid until it is revoked, and states its scopes and lanes', async () => {
  const { key, ...created } = await apiKeys.create({
    name: 'shop',
    scopes: ['send', 'read'],
    lanes: ['main'],
  });
  expect(created).toMatchObject({ name: 'shop', scopes: ['read', 'send'], lanes: ['main'] });
  expect(await apiKeys.check(key)).toEqual(created);
  expect(await apiKeys.isActive(created.id)).toBe(true);
  await apiKeys.revoke(created.id);
  expect([await apiKeys.check(key), await apiKeys.isActive(created.id)]).toEqual([null, false]);
  await expect(apiKeys.revoke(created.id)).rejects.toThrow(`there is no key ${created.id}`);
});

test('A text that differs from a key in any part is not a valid key', async () => {
  const { key, id } = await apiKeys.create({ name: 'shop', scopes: ['read'] });
  const last = key.endsWith('A') ? 'B' : 'A';
  const others = [
    key.slice(0, -1),
    `${key.slice(0, -1)}${last}`,
    key.replace(id, '0'.repeat(12)),
    key.replace('vk_', ''),
    `${key} `,
    '',
    `vk_${id}_`,
  ];
  for (const other of others) expect(await apiKeys.check(other), other).toBeNull();
  expect(await apiKeys.check(key)).not.toBeNull();
});

test('Redis never stores the secret of a key', async () => {
  const { key } = await apiKeys.create({ name: 'shop', scopes: ['operate'] });
  const secret = key.split('_').slice(2).join('_');
  const stored: unknown[] = [];
  for (const name of await keysOf(redis, prefix)) {
    stored.push((await redis.type(name)) === 'hash' ? await redis.hgetall(name) : await redis.get(name));
  }
  expect(JSON.stringify(stored)).toContain('shop');
  expect(JSON.stringify(stored)).not.toContain(secret);
});

test('The last use of a key is recorded to the minute', async () => {
  const { key, id } = await apiKeys.create({ name: 'shop', scopes: ['read'] });
  const used = async () => (await apiKeys.list()).find((one) => one.id === id)?.lastUsedAt;
  expect(await used()).toBeNull();
  await apiKeys.check(key);
  const first = new Date(now).toISOString();
  await expect.poll(used).toBe(first);
  now += 59_999;
  await apiKeys.check(key);
  expect(await used()).toBe(first);
  now += 1;
  await apiKeys.check(key);
  await expect.poll(used).toBe(new Date(now).toISOString());
});
