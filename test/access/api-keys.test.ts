import { expect, test } from 'vitest';
import { apiKeyDesk } from '../../src/access/api-keys.js';
import { keyNames } from '../../src/redis/keys.js';
import { keysOf, testRedis } from '../redis/test-redis.js';

const { redis, prefix } = testRedis('api-keys');
let now = 1_700_000_000_000;
const desk = apiKeyDesk({
  redis,
  keys: keyNames(prefix),
  lanes: new Map([
    ['main', 1],
    ['other', 1],
  ]),
  clock: () => now,
});

test('A key opens until it is revoked, and says what it may do', async () => {
  const { key, ...made } = await desk.create({ name: 'shop', scopes: ['send', 'read'], lanes: ['main'] });
  expect(made).toMatchObject({ name: 'shop', scopes: ['read', 'send'], lanes: ['main'] });
  expect(await desk.check(key)).toEqual(made);
  expect(await desk.stands(made.id)).toBe(true);
  await desk.revoke(made.id);
  expect([await desk.check(key), await desk.stands(made.id)]).toEqual([null, false]);
  await expect(desk.revoke(made.id)).rejects.toThrow(`there is no key ${made.id}`);
});

test('What is not wholly the key opens nothing', async () => {
  const { key, id } = await desk.create({ name: 'shop', scopes: ['read'] });
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
  for (const other of others) expect(await desk.check(other), other).toBeNull();
  expect(await desk.check(key)).not.toBeNull();
});

test('The secret lies nowhere in Redis', async () => {
  const { key } = await desk.create({ name: 'shop', scopes: ['operate'] });
  const secret = key.split('_').slice(2).join('_');
  const stored: unknown[] = [];
  for (const name of await keysOf(redis, prefix)) stored.push(await redis.hgetall(name));
  expect(JSON.stringify(stored)).toContain('shop');
  expect(JSON.stringify(stored)).not.toContain(secret);
});

test('When a key was used last is told to the minute', async () => {
  const { key, id } = await desk.create({ name: 'shop', scopes: ['read'] });
  const used = async () => (await desk.list()).find((one) => one.id === id)?.lastUsedAt;
  expect(await used()).toBeNull();
  await desk.check(key);
  const first = new Date(now).toISOString();
  await expect.poll(used).toBe(first);
  now += 59_999;
  await desk.check(key);
  expect(await used()).toBe(first);
  now += 1;
  await desk.check(key);
  await expect.poll(used).toBe(new Date(now).toISOString());
});
