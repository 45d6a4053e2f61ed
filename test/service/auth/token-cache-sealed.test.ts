import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseDuration } from '../../../src/base/duration.js';
import type { TokenCache, TokenCacheOptions } from '../../../src/service/auth/token-cache.js';
import type { LoginOutcome } from '../../../src/service/login-outcome.js';
import { stopFrom, tokenFrom } from './account-service.js';
import { tokenCaches } from './token-caches.js';

const { redis, own, cache, tokenKey } = tokenCaches('token-cache-sealed');

test('Redis stores tokens encrypted with a secrets key, and in the clear without one', async () => {
  const stored = async () => JSON.stringify(await redis.hgetall(tokenKey()));
  const pair = { kind: 'pair', accessToken: 'marked-access', refreshToken: 'marked-refresh' } as const;
  own.service.loginEnds = pair;
  await cache({ secretsKey: 'key' }).get();
  expect(await stored()).toContain('gcm:');
  expect(await stored()).not.toContain('marked-');
  expect(await cache({ secretsKey: 'key' }).get()).toMatchObject({
    kind: 'token',
    token: 'marked-access',
  });
  own.username += '-clear';
  await cache().get();
  expect(await stored()).toContain('marked-access');
});

test('a process with another secrets key, or none, reports that and spends no refresh token', async () => {
  await cache({ secretsKey: 'key' }).get();
  for (const stranger of [cache({ secretsKey: 'other' }), cache()]) {
    expect(await stopFrom(stranger.get())).toMatch(/another SECRETS_KEY/);
    expect(await stopFrom(stranger.replaceRefused(1))).toMatch(/another SECRETS_KEY/);
  }
  expect(own.service.presented).toEqual([]);
  expect(await tokenFrom(cache({ secretsKey: 'key' }).replaceRefused(1))).toMatchObject({ generation: 2 });
  expect(await tokenFrom(cache({ secretsKey: 'other' }).login({ again: true }))).toMatchObject({
    generation: 3,
  });
});

test('after a change of the secrets key, a token is used with the previous key, and sealed with the new one', async () => {
  await cache({ secretsKey: 'one' }).get();
  const changing = cache({ secretsKey: 'two', previousSecretsKey: 'one' });
  expect(await tokenFrom(changing.get())).toMatchObject({ generation: 1 });
  expect(await stopFrom(cache({ secretsKey: 'one' }).get())).toMatch(/another SECRETS_KEY/);
  const changed = cache({ secretsKey: 'two' });
  expect(await tokenFrom(changed.get())).toMatchObject({ generation: 1 });
  expect(own.service.logins).toBe(1);
  // The refresh token was sealed again as well.
  expect(await tokenFrom(changed.refreshNow())).toMatchObject({ generation: 2 });
  expect([own.service.logins, own.service.presented.length]).toEqual([1, 1]);
});

test('with a secrets key, a token that is not encrypted is neither used nor refreshed, but replaced by a login', async () => {
  await cache().get();
  expect(await tokenFrom(cache({ secretsKey: 'key' }).get())).toMatchObject({ generation: 2 });
  expect([own.service.logins, own.service.presented]).toEqual([2, []]);
  expect((await cache({ secretsKey: 'key' }).show()).encrypted).toBe(true);
  expect(await tokenFrom(cache({ secretsKey: 'key' }).get())).toMatchObject({ generation: 2 });
  expect(own.service.logins).toBe(2);
});

/** The cache of an OAuth 2 client, whose tokens have no refresh token. */
function clientCache(scope: string, options: Partial<TokenCacheOptions> = {}): TokenCache {
  const login = async (): Promise<LoginOutcome> => {
    const outcome = await own.service.login();
    return outcome.kind === 'pair' ? { ...outcome, refreshToken: '', lifetimeMs: 60_000 } : outcome;
  };
  return cache({ account: { username: own.username, password: 'secret', scope }, login, ...options });
}

test('a client gets each token with its secret, once for all processes, and presents no refresh token', async () => {
  own.service.lifeMs = undefined;
  const fleet = [clientCache('sms a'), clientCache('sms a', { secretsKey: undefined })];
  const got = await Promise.all(fleet.map((each) => tokenFrom(each.get())));
  expect(got).toEqual(Array(2).fill({ serial: 1, generation: 1 }));
  const [one, other] = fleet;
  if (one === undefined || other === undefined) throw new Error('no cache');
  const newer = await Promise.all([tokenFrom(one.replaceRefused(1)), tokenFrom(other.replaceRefused(1))]);
  expect(newer).toEqual(Array(2).fill({ serial: 2, generation: 2 }));
  expect(own.service.logins).toBe(2);
  expect(own.service.presented).toEqual([]);
  expect(await one.show()).toMatchObject({ refreshToken: 'none', state: 'usable' });
});

test('the lifetime of an opaque token is the one that its response stated, also with encryption at rest', async () => {
  own.service.lifeMs = undefined;
  const one = clientCache('sms a', { secretsKey: randomBytes(32).toString('hex') });
  await one.get();
  const { expiresIn, refreshToken } = await one.show();
  expect(parseDuration(expiresIn ?? '')).toBeGreaterThan(50_000);
  expect(parseDuration(expiresIn ?? '')).toBeLessThanOrEqual(60_000);
  expect(refreshToken).toBe('none');
});

test('a client with other scopes has a token of its own, and shares the budget of its secret', async () => {
  own.service.loginEnds = { kind: 'refused', reason: 'invalid_client' };
  const [one, other] = [clientCache('sms a'), clientCache('sms b')];
  expect(await stopFrom(one.get())).toMatch(
    /^The token service refused the client .* twice \(invalid_client\)\. Check TOKEN_URL/,
  );
  expect(own.service.logins).toBe(2);
  await stopFrom(other.get());
  expect(own.service.logins).toBe(2);
  own.service.loginEnds = undefined;
  const got = await one.login({ again: true });
  expect(got.kind).toBe('token');
  expect((await tokenFrom(other.get())).serial).toBe(2);
});
