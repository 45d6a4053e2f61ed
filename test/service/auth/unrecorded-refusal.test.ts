import { afterAll, expect, test, vi } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { loginBudget } from '../../../src/service/auth/login-budget.js';
import { privateRedis } from '../../base/redis/servers/private-redis.js';
import { SOON } from '../../base/soon.js';

const server = await privateRedis();
const redis = connect(server.url);
const closing = new AbortController();
afterAll(() => {
  closing.abort();
  redis.disconnect();
});
const MINUTE = 60_000;
const budget = loginBudget({
  redis,
  keys: keyNames('unheard'),
  credentialId: async () => 'credential',
  attemptMs: MINUTE,
  retryAfterMs: [MINUTE],
  retry: { tries: 2 },
  closing: closing.signal,
  now: () => 1_700_000_000_000,
});

test('a refusal that cannot be recorded while Redis is down is counted once Redis is back, even for a proven password', async () => {
  await budget.begin('good', false);
  await budget.settle('good', { kind: 'pair', accessToken: 'a', refreshToken: 'r' });
  expect(await budget.begin('first', false)).toEqual({ kind: 'go' });
  await server.kill();
  await expect(budget.settle('first', { kind: 'badCredential' })).rejects.toThrow();
  await server.restart();
  const isSettled = () =>
    budget.read().then(
      ({ isPending }) => !isPending,
      () => false,
    );
  await vi.waitUntil(isSettled, { ...SOON, interval: 100 });
  expect(await budget.begin('second', false)).toEqual({ kind: 'go' });
  const status = await budget.settle('second', { kind: 'badCredential' });
  expect(status).toMatchObject({ kind: 'stopped', code: 'badCredential' });
});
