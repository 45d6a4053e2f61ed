import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createTokenCache } from '../../src/auth/token-cache.js';
import { createAccountClient } from '../../src/gateway/accounts.js';
import type { Bearer } from '../../src/gateway/bearer.js';
import { createMessagingClient } from '../../src/gateway/messaging.js';
import { laneTokenSource } from '../../src/lane/token-source.js';
import { connect } from '../../src/redis/connection.js';
import { keyNames } from '../../src/redis/keys.js';
import { startSimulator } from '../../src/simulator/index.js';
import { PERMIT } from '../interface/raw-server.js';
import { testRedis } from '../redis/test-redis.js';

const ACCOUNT = { username: 'ann', password: 'secret' };
const LIFETIME_MS = 600_000;
const MESSAGE = { sender: 'ACME', recipients: ['+447700900123'], text: 'Sale' };

const { url, prefix } = testRedis('token-source');
let now = Date.now();
const simulator = await startSimulator(
  {
    accepts: 'both',
    keys: [{ key: 'good' }],
    accounts: [ACCOUNT],
    // Only a 401 shows that such a token has expired.
    tokens: { accessLifetimeMs: LIFETIME_MS, withExp: false },
    magicRecipients: 'off',
  },
  { clock: () => now },
);
const messaging = createMessagingClient({ baseUrl: simulator.messagingBaseUrl, timeoutMs: 5_000 });
const accounts = createAccountClient({ baseUrl: simulator.accountBaseUrl, timeoutMs: 5_000 });
afterAll(async () => {
  messaging.close();
  accounts.close();
  await simulator.close();
});

/** A lane with this key and the account. Each test has its own token. */
function sourceWith(apiKey: string, name: string) {
  const redis = connect(url, 'protocol');
  onTestFinished(() => void redis.disconnect());
  const cache = createTokenCache({
    redis,
    keys: keyNames(`${prefix}-${name}`),
    account: ACCOUNT,
    requestTimeoutMs: 5_000,
    login: (signal) => accounts.login(ACCOUNT, signal),
    refresh: (token, signal) => accounts.refresh(token, signal),
  });
  onTestFinished(() => cache.close());
  const credentials = { kind: 'apiKey', apiKey, account: ACCOUNT, xAuthorization: 'accessToken' } as const;
  return { cache, source: laneTokenSource('main', credentials, cache, () => now) };
}

const send = async (bearer: Bearer) => (await messaging.send(MESSAGE, bearer, PERMIT)).kind;

test('a lane with a key and an account renews the token whenever it has expired', async () => {
  const { source } = sourceWith('good', 'renews');
  let outcome = await source.get();
  for (let time = 0; time < 3; time += 1) {
    if (outcome.kind !== 'token') throw new Error(outcome.reason);
    expect(await send(outcome.bearer)).toBe('accepted');
    now += LIFETIME_MS + 1;
    expect(await send(outcome.bearer)).toBe('unauthorised');
    outcome = await source.replaceRefused(outcome.generation);
  }
  expect(outcome).toMatchObject({ kind: 'token', generation: 4, bearer: { authorization: 'good' } });
});

test('a lane whose key is refused with a renewed token stops, and counts nothing against the account', async () => {
  const { source, cache } = sourceWith('wrong', 'stops');
  const first = await source.get();
  if (first.kind !== 'token') throw new Error(first.reason);
  expect(await send(first.bearer)).toBe('unauthorised');
  const second = await source.replaceRefused(first.generation);
  if (second.kind !== 'token') throw new Error(second.reason);
  expect(second.generation).toBeGreaterThan(first.generation);
  expect(await send(second.bearer)).toBe('unauthorised');
  expect(await source.replaceRefused(second.generation)).toEqual({
    kind: 'stopped',
    reason: expect.stringContaining(
      'the API key of lane main, also together with a fresh access token of "ann"',
    ),
  });
  expect(await cache.show()).toMatchObject({ state: 'usable', blockedReason: null });
});
