import { expect, test } from 'vitest';
import { apiKeyService } from '../../../src/app/access/api-key-service.js';
import type { WebhooksOfKey } from '../../../src/app/access/manage-keys.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import type { Operator } from '../../../src/campaign/states/audit.js';
import { openLanes } from '../../../src/engine/lane/lane-finder.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { redis, prefix } = testRedis('api-keys');
let now = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const recorded: unknown[] = [];
const emitted: VolleyEvent[] = [];
const events = createEvents({ level: 'silent' });
events.onAny((event) => emitted.push(event));
const by: Operator = {
  actor: { kind: 'cli', id: null, name: 'anna@mail-1' },
  isLimited: false,
  authorise: async () => {},
  audited(operation, run) {
    recorded.push(operation);
    return run();
  },
};

/** What is done with the webhooks of keys. */
const done: (readonly [what: string, key: string])[] = [];
const webhooks: WebhooksOfKey = {
  async list(key) {
    done.push(['list', key]);
    return [];
  },
  async disable(key, because) {
    done.push([because, key]);
  },
};

/** The service of an installation with this SECRETS_KEY, all in the same Redis. */
const serviceWith = (secretsKey: string | undefined, previousSecretsKey?: string) =>
  apiKeyService({
    redis,
    keys: keyNames(prefix),
    finder: openLanes({
      redis,
      keys: keyNames(prefix),
      config: loadLocalConfig(
        { LANES_FILE: 'lanes.json' },
        { readFile: () => '[{ "name": "main", "apiKey": "m" }, { "name": "other", "apiKey": "o" }]' },
      ),
      events,
      random: Math.random,
    }),
    operatorOf: () => by,
    currency: undefined,
    requestsPerMinute: 600,
    clock: () => now,
    events,
    refused: { count: () => {}, close: async () => {} },
    secretsKey,
    previousSecretsKey,
  });
/** The keys of such an installation. */
const keysWith = (
  secretsKey: string | undefined,
  previousSecretsKey?: string,
  cancel: Parameters<ReturnType<typeof apiKeyService>>[1] = async (key) => ({
    cancelled: [`a campaign of ${key}`],
    emptied: [],
    shared: [],
  }),
) => serviceWith(secretsKey, previousSecretsKey)(by, cancel, webhooks);
const apiKeys = keysWith('a'.repeat(64));

test('A page that only watches uses its session, and a stream does not use a key', async () => {
  const { key, id } = await apiKeys.create({ name: 'watched', scopes: ['read'] });
  const session = (await apiKeys.signIn({ key })) ?? '';
  const stored = keyNames(prefix).session(session.split('_')[1] ?? '');
  await redis.pexpire(stored, 60_000);
  expect(await apiKeys.isActive(key)).toBe(true);
  expect((await apiKeys.get(id)).lastUsedAt).toBeNull();
  expect(await apiKeys.isActive(session)).toBe(true);
  await expect.poll(() => redis.pttl(stored)).toBeGreaterThan(11 * 3_600_000);
});

test('A key is valid until it is revoked, and states its scopes and lanes', async () => {
  const { key, ...created } = await apiKeys.create({
    name: 'shop',
    scopes: ['send', 'read'],
    lanes: ['main'],
  });
  expect(created).toMatchObject({ name: 'shop', scopes: ['read', 'send'], lanes: ['main'], state: 'active' });
  expect(await apiKeys.check(key)).toEqual(created);
  expect(await apiKeys.isActive(key)).toBe(true);
  await apiKeys.revoke(created.id);
  expect([await apiKeys.check(key), await apiKeys.isActive(key)]).toEqual([null, false]);
  await expect(apiKeys.revoke(created.id)).rejects.toThrow(`there is no key ${created.id}`);
});

test('The name of a key is 1 to 100 characters on one line, without half of a surrogate pair', async () => {
  for (const name of ['', ' ', 'a\nb', 'a'.repeat(101), 'shop \ud83d']) {
    const refused = apiKeys.create({ name, scopes: ['read'] });
    await expect(refused).rejects.toThrow('a key needs a name of 1 to 100 characters on one line');
  }
  expect(await apiKeys.create({ name: '😀'.repeat(100), scopes: ['read'] })).toMatchObject({
    name: '😀'.repeat(100),
  });
});

test('Revoking a key whose campaigns could not all be cancelled can be repeated until they are', async () => {
  let isFull = true;
  const failing = keysWith('a'.repeat(64), undefined, async (key) => {
    if (isFull) throw new Error('Redis is full');
    return { cancelled: [`the rest of ${key}`], emptied: [], shared: [] };
  });
  const { key, id } = await failing.create({ name: 'shop', scopes: ['send'] });
  await expect(failing.revoke(id, { cancelCampaigns: true })).rejects.toThrow('Redis is full');
  expect(await failing.check(key)).toBeNull();
  isFull = false;
  expect(await failing.revoke(id, { cancelCampaigns: true })).toMatchObject({
    cancelled: [`the rest of ${id}`],
  });
  await expect(failing.revoke('0'.repeat(12), { cancelCampaigns: true })).rejects.toThrow('there is no key');
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

test('A key expires after its lifetime, a year by default', async () => {
  const short = await apiKeys.create({ name: 'a month', scopes: ['read'], lifetime: '30d' });
  const usual = await apiKeys.create({ name: 'a year', scopes: ['read'] });
  const endless = await apiKeys.create({ name: 'for ever', scopes: ['read'], lifetime: null });
  const valid = async () =>
    Promise.all([short, usual, endless].map(async ({ key }) => (await apiKeys.check(key)) !== null));
  const before = now;
  now = before + 30 * DAY_MS - 1;
  expect(await valid()).toEqual([true, true, true]);
  now = before + 30 * DAY_MS;
  expect(await valid()).toEqual([false, true, true]);
  expect(await apiKeys.isActive(short.key)).toBe(false);
  expect((await apiKeys.list()).find(({ id }) => id === short.id)?.state).toBe('expired');
  now = before + 365 * DAY_MS;
  expect(await valid()).toEqual([false, false, true]);
});

test('After a rotation, the new secret works, and the old one until the end of the overlap', async () => {
  const { key: old, id } = await apiKeys.create({ name: 'shop', scopes: ['read'], lifetime: '10d' });
  now += 9 * DAY_MS;
  const rotated = await apiKeys.rotate(id, { overlap: '1h' });
  expect(rotated.key).not.toBe(old);
  expect(rotated).toMatchObject({ id, expiresAt: new Date(now + 10 * DAY_MS).toISOString() });
  const valid = async () =>
    Promise.all([old, rotated.key].map(async (key) => (await apiKeys.check(key))?.id === id));
  expect(await valid()).toEqual([true, true]);
  now += 3_600_000;
  expect(await valid()).toEqual([false, true]);
  const again = await apiKeys.rotate(id, { overlap: '0s' });
  expect(await apiKeys.check(rotated.key)).toBeNull();
  expect(again.oldSecretUntil).toBeNull();
  await expect(apiKeys.rotate('0'.repeat(12))).rejects.toThrow('there is no key');
});

test('Without the SECRETS_KEY, write access to Redis neither creates a key nor extends one', async () => {
  const { key: shop, id } = await apiKeys.create({ name: 'shop', scopes: ['read'], lanes: ['main'] });
  const stored = keyNames(prefix).apiKeys;
  const original = (await redis.hget(stored, id)) ?? '';
  // Made with everything but the key: as Volley would make it without one, or with another one.
  for (const guess of [undefined, 'b'.repeat(64)]) {
    const { key: forged } = await keysWith(guess).create({ name: 'forged', scopes: ['operate'] });
    expect(await apiKeys.check(forged)).toBeNull();
  }
  const changes = [
    { scopes: ['read', 'operate'] },
    { lanes: null },
    { maxSuppressions: 1e9 },
    { limits: { requestsPerMinute: 1e6 } },
    { lifetime: null },
    { secrets: [{ ...JSON.parse(original).secrets[0], until: null }] },
  ];
  for (const change of changes) {
    await redis.hset(stored, id, JSON.stringify({ ...JSON.parse(original), ...change }));
    expect(await apiKeys.check(shop), JSON.stringify(change)).toBeNull();
    expect(await apiKeys.isActive(shop)).toBe(false);
  }
  // Another key's record under this id.
  const other = await apiKeys.create({ name: 'other', scopes: ['operate'] });
  await redis.hset(stored, id, (await redis.hget(stored, other.id)) ?? '');
  expect(await apiKeys.check(other.key.replace(other.id, id))).toBeNull();
  await redis.hset(stored, id, original);
  expect(await apiKeys.check(shop)).toMatchObject({ id });
});

test('The restored record of a revoked key does not work, and only this installation can mark a key as revoked', async () => {
  const { key, id } = await apiKeys.create({ name: 'shop', scopes: ['read'] });
  const names = keyNames(prefix);
  const record = (await redis.hget(names.apiKeys, id)) ?? '';
  const other = await apiKeys.create({ name: 'another shop', scopes: ['read'] });
  await apiKeys.revoke(id);
  await redis.hset(names.apiKeys, id, record);
  expect([await apiKeys.check(key), await apiKeys.isActive(key)]).toEqual([null, false]);
  expect((await apiKeys.list()).find((one) => one.id === id)?.state).toBe('invalid');
  await expect(apiKeys.rotate(id)).rejects.toThrow('is invalid: revoke it and create another');
  // The tombstone of one key under the id of another, and one that was made up.
  for (const forged of [
    (await redis.hget(names.apiKeysRevoked, id)) ?? '',
    JSON.stringify([now, 'x']),
    '{}',
  ]) {
    await redis.hset(names.apiKeysRevoked, other.id, forged);
    expect(await apiKeys.check(other.key), forged).toMatchObject({ id: other.id });
  }
  await apiKeys.revoke(id);
  expect((await apiKeys.list()).map((one) => one.id)).not.toContain(id);
});

test('The life of a key is over when it expires, when it is revoked, and when its session has ended', async () => {
  const { lifeOf } = serviceWith('a'.repeat(64));
  const { id } = await apiKeys.create({ name: 'ending', scopes: ['read'], lifetime: '10d' });
  expect(await lifeOf(id)).toEqual({ state: 'active', until: now + 10 * DAY_MS });
  now += 10 * DAY_MS;
  expect(await lifeOf(id)).toMatchObject({ state: 'expired' });
  await apiKeys.rotate(id);
  expect(await lifeOf(id)).toMatchObject({ state: 'active' });
  expect(await serviceWith('b'.repeat(64)).lifeOf(id)).toMatchObject({ state: 'invalid' });
  await apiKeys.revoke(id);
  expect(await lifeOf(id)).toMatchObject({ state: 'revoked' });
  const { secret } = await apiKeys.createLink({ scopes: ['operate', 'read'] });
  const session = (await apiKeys.signIn({ link: secret })) ?? '';
  const ofSession = (await apiKeys.check(session))?.id ?? '';
  expect(await lifeOf(ofSession)).toMatchObject({ state: 'active' });
  await apiKeys.signOut(session);
  expect(await lifeOf(ofSession)).toMatchObject({ state: 'expired' });
});

test('A rotation returns the webhooks of the key, and disables them if asked to; a revocation always does', async () => {
  const { id } = await apiKeys.create({ name: 'leaked', scopes: ['read'] });
  done.length = 0;
  expect(await apiKeys.rotate(id)).toMatchObject({ id, webhooks: [] });
  expect(done).toEqual([['list', id]]);
  await apiKeys.rotate(id, { disableWebhooks: true });
  expect(done.slice(1)).toEqual([
    ['operator', id],
    ['list', id],
  ]);
  await apiKeys.revoke(id);
  expect(done.slice(3)).toEqual([['keyRevoked', id]]);
});

test('The restored record of a rotated key does not bring back the secret that was replaced', async () => {
  const names = keyNames(prefix);
  const { key: first, id } = await apiKeys.create({ name: 'shop', scopes: ['read'] });
  const record = (await redis.hget(names.apiKeys, id)) ?? '';
  const { key: second } = await apiKeys.rotate(id, { overlap: '1h' });
  const rotated = (await redis.hget(names.apiKeys, id)) ?? '';
  await redis.hset(names.apiKeys, id, record);
  expect(await apiKeys.check(first)).toMatchObject({ id });
  now += 3_600_000;
  expect([await apiKeys.check(first), await apiKeys.isActive(first)]).toEqual([null, false]);
  expect((await apiKeys.list()).find((one) => one.id === id)?.state).toBe('invalid');

  await redis.hset(names.apiKeys, id, rotated);
  expect(await apiKeys.check(second)).toMatchObject({ id });
  await apiKeys.rotate(id, { overlap: '1h' });
  // A second rotation in the overlap ends the secret before at once.
  const { key: fourth } = await apiKeys.rotate(id, { overlap: '0s' });
  await redis.hset(names.apiKeys, id, rotated);
  expect([await apiKeys.check(second), await apiKeys.check(fourth)]).toEqual([null, null]);
  await apiKeys.revoke(id);
});

test('A replaced secret stays replaced when the SECRETS_KEY changes', async () => {
  const names = keyNames(prefix);
  const { key, id } = await apiKeys.create({ name: 'shop', scopes: ['read'] });
  const record = (await redis.hget(names.apiKeys, id)) ?? '';
  const changing = keysWith('c'.repeat(64), 'a'.repeat(64));
  // Replaced before the key was used with the new SECRETS_KEY, and after.
  for (const isUsed of [false, true]) {
    await redis.hset(names.apiKeys, id, record);
    await redis.del(names.apiKeysRevoked);
    if (isUsed) {
      expect(await changing.check(key)).toMatchObject({ id });
      await expect.poll(() => redis.hget(names.apiKeys, id)).not.toBe(record);
    }
    await changing.rotate(id, { overlap: '0s' });
    await redis.hset(names.apiKeys, id, record);
    expect(await changing.check(key), String(isUsed)).toBeNull();
  }
  await changing.revoke(id);
});

test('A damaged tombstone or record of one key leaves the others alone', async () => {
  const names = keyNames(prefix);
  const shop = await apiKeys.create({ name: 'shop', scopes: ['read'] });
  const damaged = await apiKeys.create({ name: 'damaged', scopes: ['read'] });
  const listed = async () => (await apiKeys.list()).filter(({ id }) => [shop.id, damaged.id].includes(id));
  for (const text of ['', '{', '[1', 'null', '[1]', '"x"']) {
    await redis.hset(names.apiKeysRevoked, shop.id, text);
    expect((await listed()).length, text).toBe(2);
    expect(await apiKeys.check(shop.key), text).toMatchObject({ id: shop.id });
    await redis.hset(names.apiKeys, damaged.id, text);
    expect((await listed()).find(({ id }) => id === damaged.id)?.state, text).toBe('invalid');
    expect(await apiKeys.check(damaged.key), text).toBeNull();
  }
  await apiKeys.revoke(damaged.id);
  await apiKeys.revoke(shop.id);
  expect(await listed()).toEqual([]);
});

test('After a change of SECRETS_KEY, a key works with the previous one, and without it once it was used', async () => {
  const [used, unused] = [
    await apiKeys.create({ name: 'used', scopes: ['read'] }),
    await apiKeys.create({ name: 'unused', scopes: ['read'] }),
  ];
  const revoked = await apiKeys.create({ name: 'revoked', scopes: ['read'] });
  const record = (await redis.hget(keyNames(prefix).apiKeys, revoked.id)) ?? '';
  await apiKeys.revoke(revoked.id);
  const [before, after] = ['a'.repeat(64), 'c'.repeat(64)];
  const changing = keysWith(after, before);
  const needing = async () =>
    (await changing.list()).filter((key) => key.needsPreviousKey && [used.id, unused.id].includes(key.id));
  expect((await needing()).length).toBe(2);
  expect(await changing.check(used.key)).toMatchObject({ id: used.id, state: 'active' });
  await expect.poll(async () => (await needing()).map(({ id }) => id)).toEqual([unused.id]);
  const changed = keysWith(after);
  expect(await changed.check(used.key)).toMatchObject({ id: used.id, needsPreviousKey: false });
  expect(await changed.check(unused.key)).toBeNull();
  // What was revoked before stays revoked.
  await redis.hset(keyNames(prefix).apiKeys, revoked.id, record);
  expect(await changing.check(revoked.key)).toBeNull();
  for (const id of [used.id, unused.id, revoked.id]) await changing.revoke(id);
});

test('A stored key that lacks members does not work, and is listed as invalid until it is revoked', async () => {
  const id = 'ab'.repeat(6);
  const old = { name: 'old shop', digest: 'x', scopes: ['read'], lanes: null, created: now };
  await redis.hset(keyNames(prefix).apiKeys, id, JSON.stringify(old));
  expect(await apiKeys.check(`vk_${id}_${'A'.repeat(43)}`)).toBeNull();
  const listed = async () => (await apiKeys.list()).find((key) => key.id === id);
  expect(await listed()).toMatchObject({ name: 'old shop', state: 'invalid' });
  await expect(apiKeys.rotate(id)).rejects.toThrow('is invalid: revoke it and create another');
  await apiKeys.revoke(id);
  expect(await listed()).toBeUndefined();
});

test('Creating, rotating, and revoking a key is recorded, and names the actor in an event', async () => {
  recorded.length = 0;
  emitted.length = 0;
  const { id } = await apiKeys.create({ name: 'shop', scopes: ['read'], lanes: ['main'] });
  await apiKeys.rotate(id, { overlap: '0s' });
  expect(await apiKeys.revoke(id, { cancelCampaigns: true })).toMatchObject({
    cancelled: [`a campaign of ${id}`],
  });
  expect(recorded).toMatchObject([
    { action: 'key.create', details: { key: id, name: 'shop', scopes: 'read', lanes: 'main' } },
    { action: 'key.rotate', details: { key: id } },
    { action: 'key.revoke', details: { key: id } },
  ]);
  const actor = 'cli anna@mail-1';
  expect(emitted).toMatchObject([
    { type: 'key.created', key: id, actor },
    { type: 'key.rotated', key: id, actor },
    { type: 'key.revoked', key: id, cancelled: 1, actor },
  ]);
});

test('A rotation that is repeated ends no secret that is in use, and with an overlap of 0s it ends all of them', async () => {
  const { key: first, id } = await apiKeys.create({ name: 'shop', scopes: ['read'] });
  const secrets = [first];
  for (const overlap of ['2h', '1h']) secrets.push((await apiKeys.rotate(id, { overlap })).key);
  const working = async (): Promise<boolean[]> =>
    Promise.all(secrets.map(async (secret) => (await apiKeys.check(secret)) !== null));
  expect(await working()).toEqual([true, true, true]);
  const { oldSecretUntil } = await apiKeys.get(id);
  expect(oldSecretUntil).toBe(new Date(now + 2 * 3_600_000).toISOString());
  now += 3_600_000;
  expect(await working()).toEqual([true, false, true]);
  now += 3_600_000;
  expect(await working()).toEqual([false, false, true]);
  for (let times = 0; times < 10; times += 1) secrets.push((await apiKeys.rotate(id)).key);
  await expect(apiKeys.rotate(id)).rejects.toThrow('has 10 former secrets that work: set `overlap` to 0s');
  const { key: last } = await apiKeys.rotate(id, { overlap: '0s' });
  expect(new Set(await working())).toEqual(new Set([false]));
  expect(await apiKeys.check(last)).toMatchObject({ id, oldSecretUntil: null });
  await apiKeys.revoke(id);
});
