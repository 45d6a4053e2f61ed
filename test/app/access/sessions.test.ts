import { expect, test } from 'vitest';
import { sessionStore } from '../../../src/app/access/sessions.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';

const { redis, prefix } = testRedis('sessions');
const keys = keyNames(prefix);
let now = 1_700_000_000_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const storeWith = (secretsKey: string | undefined, previousSecretsKey?: string) =>
  sessionStore({ redis, keys, clock: () => now, secretsKey, previousSecretsKey });
const KEY = 'a'.repeat(64);
const sessions = storeWith(KEY);
const anna = { kind: 'cli', id: null, name: 'anna@mail-1' } as const;
const idOf = (text: string): string => text.split('_')[1] ?? '';
const leftMs = (text: string): Promise<number> => redis.pttl(keys.session(idOf(text)));

test('A session ends after 12 hours without a use, and after 7 days', async () => {
  const text = await sessions.begin('0123456789ab', 'digest');
  const session = await sessions.read(text);
  expect(session).toMatchObject({ key: '0123456789ab', secret: 'digest', endsAt: now + 12 * HOUR_MS });
  expect(await leftMs(text)).toBeGreaterThan(12 * HOUR_MS - MINUTE_MS);
  expect(await leftMs(text)).toBeLessThanOrEqual(12 * HOUR_MS);
  if (session === null) throw new Error('the session has not begun');

  // Redis forgets it when its time is over, and each use gives it another 12 hours.
  await redis.pexpire(keys.session(session.id), MINUTE_MS);
  await sessions.used(session);
  expect(await leftMs(text)).toBeGreaterThan(12 * HOUR_MS - MINUTE_MS);
  const began = now;
  now = began + 7 * 24 * HOUR_MS - HOUR_MS;
  await sessions.used(session);
  expect(await leftMs(text)).toBeLessThanOrEqual(HOUR_MS);
  expect((await sessions.read(text))?.endsAt).toBe(began + 7 * 24 * HOUR_MS);
  now = began + 7 * 24 * HOUR_MS;
  expect(await sessions.read(text)).toBeNull();
});

test('A session that was ended, or never begun, is unknown', async () => {
  const [one, other] = [await sessions.begin('k', 'd'), await sessions.begin('k', 'd')];
  const forged = `${one.slice(0, -1)}${one.endsWith('A') ? 'B' : 'A'}`;
  for (const text of [forged, `vs_${idOf(one)}_${other.split('_')[2]}`, 'vs_', '', 'vk_0123456789ab_x'])
    expect([text, await sessions.read(text)]).toEqual([text, null]);
  // Its id is no secret, so it ends nothing.
  await sessions.end(forged);
  expect(await sessions.read(one)).not.toBeNull();
  await sessions.end(one);
  expect([await sessions.read(one), await sessions.isOpen(idOf(one))]).toEqual([null, false]);
  expect(await sessions.isOpen(idOf(other))).toBe(true);
});

test('A link is used up once, within ten minutes, and says who made it', async () => {
  const { text, endsAt } = await sessions.makeLink(anna, ['read']);
  expect(endsAt).toBe(now + 10 * MINUTE_MS);
  const both = await Promise.all([sessions.takeLink(text), sessions.takeLink(text)]);
  expect(both).toEqual(
    expect.arrayContaining([null, expect.objectContaining({ actor: anna, scopes: ['read'] })]),
  );
  const { text: late } = await sessions.makeLink(anna, ['read']);
  const stored = (await keysOf(redis, `${prefix}:signInLink`))[0] ?? '';
  expect(await redis.pttl(stored)).toBeLessThanOrEqual(10 * MINUTE_MS);
  now += 10 * MINUTE_MS;
  expect(await sessions.takeLink(late)).toBeNull();
});

test('Write access to Redis creates no session and no link, and changes none', async () => {
  const text = await sessions.begin('reader', 'digest');
  const name = keys.session(idOf(text));
  const own = (await redis.get(name)) ?? '';
  for (const change of [{ key: 'admin' }, { secret: 'another' }, { began: now + HOUR_MS }, { digest: 'x' }]) {
    await redis.set(name, JSON.stringify({ ...JSON.parse(own), ...change }));
    expect([change, await sessions.read(text)]).toEqual([change, null]);
  }
  for (const damaged of ['', '{', '{}', 'null']) {
    await redis.set(name, damaged);
    expect(await sessions.read(text)).toBeNull();
  }
  await redis.set(name, own);
  expect(await sessions.read(text)).not.toBeNull();
  const { text: link } = await sessions.makeLink(anna, ['read']);
  const [stored = ''] = await keysOf(redis, `${prefix}:signInLink`);
  await redis.set(stored, ((await redis.get(stored)) ?? '').replace('"read"', '"read","admin"'));
  expect(await sessions.takeLink(link)).toBeNull();
  // An attacker with Redis alone does not have SECRETS_KEY.
  const forged = await storeWith(undefined).begin('admin', 'digest');
  expect(await sessions.read(forged)).toBeNull();
});

test('A session survives a new SECRETS_KEY as long as the one before it is known', async () => {
  const text = await sessions.begin('k', 'd');
  expect(await storeWith('b'.repeat(64), KEY).read(text)).not.toBeNull();
  expect(await storeWith('b'.repeat(64)).read(text)).toBeNull();
});
