import { randomBytes } from 'node:crypto';
import { afterAll, expect, test, vi } from 'vitest';
import { connect, type Redis } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { createTokenCache } from '../../../src/service/auth/token-cache.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { accountService } from './account-service.js';
import { lossyProxy } from './lossy-proxy.js';

const { url, prefix, redis } = testRedis('lost-answers');
const proxy = await lossyProxy(url);
const throughProxy = connect(proxy.url);
await logIn(redis);
afterAll(() => throughProxy.disconnect());

/** A new account, a process that has logged in to it, and its service. */
async function logIn(connection: Redis, lose = 0) {
  const service = accountService();
  const username = `user-${randomBytes(4).toString('hex')}`;
  const cacheOn = (through: Redis) =>
    createTokenCache({
      redis: through,
      keys: keyNames(prefix),
      account: { username, password: 'secret' },
      requestTimeoutMs: 10_000,
      login: service.login,
      refresh: service.refresh,
    });
  await connection.ping();
  if (lose > 0) proxy.loseReplyToScript(lose);
  const cache = cacheOn(connection);
  const got = await cache.get();
  return { service, cache, cacheOn, got };
}

test.each([
  [1, 'claim'],
  [2, 'begin'],
  [3, 'store'],
  [4, 'settle'],
])('a login remains a single login when the reply of its script %i (%s) is lost', async (script) => {
  const before = proxy.lost;
  const { service, cacheOn, got } = await logIn(throughProxy, script);
  expect(proxy.lost).toBe(before + 1);
  expect(got).toMatchObject({ kind: 'token', generation: 1 });
  expect(service.logins).toBe(1);
  expect(await cacheOn(redis).show()).toMatchObject({
    state: 'usable',
    fetching: false,
    login: { attemptsLeft: 2, proven: true },
  });
});

test.each([
  [1, 'claim'],
  [2, 'store'],
])('a refresh remains a single refresh when the reply of its script %i (%s) is lost', async (script) => {
  const { service, cache, cacheOn } = await logIn(throughProxy);
  const before = proxy.lost;
  proxy.loseReplyToScript(script);
  const mine = cache.replaceRefused(1);
  await vi.waitFor(() => expect(proxy.lost).toBe(before + 1), SOON);
  const theirs = cacheOn(redis).replaceRefused(1);
  expect(await Promise.all([mine, theirs])).toMatchObject([
    { kind: 'token', generation: 2 },
    { kind: 'token', generation: 2 },
  ]);
  expect([service.logins, service.presented]).toEqual([1, ['refresh-1']]);
});
