import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { systemMachine } from '../../../src/base/clock.js';
import type { Credentials } from '../../../src/base/config/index.js';
import { connect } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { turnCredentials } from '../../../src/engine/jobs/turn-credentials.js';
import { laneTokenSource } from '../../../src/engine/lane/lane-token-source.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { createTokenCache } from '../../../src/service/auth/token-cache.js';
import { createAccountClient } from '../../../src/service/client/accounts.js';
import type { Bearer } from '../../../src/service/client/bearer.js';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import { startSimulator } from '../../../src/tools/simulator/index.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { PERMIT } from '../../interface/raw-server.js';
import { openDefaultLane } from './lane-fixture.js';

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
const messaging = createMessagingClient({ baseUrl: simulator.messagingBaseUrl, timeoutMs: 20_000 });
const accounts = createAccountClient({ baseUrl: simulator.accountBaseUrl, timeoutMs: 20_000 });
afterAll(async () => {
  messaging.close();
  accounts.close();
  await simulator.close();
});

/** A lane with the account, and an API key unless that is null. Each test has its own token. */
function sourceWith(apiKey: string | null, name: string) {
  const redis = connect(url, 'protocol');
  onTestFinished(() => void redis.disconnect());
  const cache = createTokenCache({
    redis,
    keys: keyNames(`${prefix}-${name}`),
    account: ACCOUNT,
    requestTimeoutMs: 20_000,
    login: (signal) => accounts.login(ACCOUNT, signal),
    refresh: (token, signal) => accounts.refresh(token, signal),
    machine: { ...systemMachine, monotonic: () => now },
  });
  onTestFinished(() => cache.close());
  const credentials: Credentials =
    apiKey === null
      ? { kind: 'account', ...ACCOUNT }
      : { kind: 'apiKey', apiKey, account: ACCOUNT, xAuthorization: 'accessToken' };
  return { cache, source: laneTokenSource('main', credentials, cache) };
}

const send = async (bearer: Bearer) => (await messaging.send(MESSAGE, bearer, PERMIT)).kind;

test('a lane with a key and an account renews the token whenever it has expired', async () => {
  const { source } = sourceWith('good', 'renews');
  let outcome = await source.get();
  for (let time = 0; time < 3; time += 1) {
    if (outcome.kind !== 'token') throw new Error(outcome.reason);
    expect(await send(outcome.bearer)).toBe('accepted');
    source.worked(outcome.generation);
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

test('a lane that sends every ten minutes stops, too, when its key is refused with a renewed token', async () => {
  const { source, cache } = sourceWith('wrong', 'seldom');
  const tries: string[] = [];
  for (let time = 0; time < 5 && tries.at(-1) !== 'stopped'; time += 1) {
    const token = await source.getForRequest();
    if (token.kind !== 'token') throw new Error(token.reason);
    expect(await send(token.bearer)).toBe('unauthorised');
    tries.push((await source.replaceRefused(token.generation)).kind);
    now += LIFETIME_MS;
  }
  expect(tries).toEqual(['token', 'stopped']);
  expect(await cache.show()).toMatchObject({ state: 'usable', blockedReason: null });
});

test('a lane that sends every ten minutes with tokens that expire in between goes on sending', async () => {
  const { source } = sourceWith('good', 'expires');
  const kinds: string[] = [];
  for (let time = 0; time < 4; time += 1) {
    const token = await source.getForRequest();
    if (token.kind !== 'token') throw new Error(token.reason);
    const answer = await send(token.bearer);
    kinds.push(answer);
    if (answer === 'accepted') source.worked(token.generation);
    else expect(await source.replaceRefused(token.generation)).toMatchObject({ kind: 'token' });
    now += LIFETIME_MS + 1;
  }
  expect(kinds).toEqual(['accepted', 'unauthorised', 'accepted', 'unauthorised']);
});

test('a token that another process renewed long ago proves nothing against the key', async () => {
  const { source } = sourceWith('good', 'shared');
  const { cache: other } = sourceWith('good', 'shared');
  const first = await source.get();
  if (first.kind !== 'token') throw new Error(first.reason);
  expect(await other.newerThan(first.generation)).toMatchObject({ kind: 'token', generation: 2 });
  const redis = connect(url, 'protocol');
  onTestFinished(() => void redis.disconnect());
  const [key = ''] = (await redis.keys(`*${prefix}-shared*token*`)).filter((each) => !each.includes('login'));
  await redis.hincrby(key, 'receivedAt', -LIFETIME_MS);
  now += LIFETIME_MS + 1;
  const second = await source.replaceRefused(first.generation);
  if (second.kind !== 'token') throw new Error(second.reason);
  expect(second.generation).toBe(2);
  expect(await source.replaceRefused(second.generation)).toMatchObject({ kind: 'token', generation: 3 });
});

test('a lane whose account may not use messaging stops, however seldom it sends', async () => {
  const { source } = sourceWith(null, 'account');
  const kinds: string[] = [];
  for (let time = 0; time < 6 && kinds.at(-1) !== 'stopped'; time += 1) {
    const token = await source.getForRequest();
    if (token.kind !== 'token') throw new Error(token.reason);
    const newer = await source.replaceRefused(token.generation);
    kinds.push(newer.kind);
    if (newer.kind === 'stopped')
      expect(newer.reason).toMatch(/fresh access token of "ann": check that this account may use messaging$/);
    now += LIFETIME_MS;
  }
  expect(kinds).toEqual(['token', 'stopped']);
});

test('a lane whose tokens work, but for less than a minute, goes on sending', async () => {
  const { source } = sourceWith(null, 'short');
  for (let generation = 1; generation <= 4; generation += 1) {
    const token = await source.getForRequest();
    expect(token).toMatchObject({ kind: 'token', generation });
    source.worked(generation);
    now += 30_000;
    expect(await source.replaceRefused(generation)).toMatchObject({ kind: 'token' });
  }
});

test('after a 401, a lane that waits for permits renews nothing until it sends again', async () => {
  const { source } = sourceWith('good', 'waits');
  const redis = connect(url, 'protocol');
  onTestFinished(() => void redis.disconnect());
  const { lane } = openDefaultLane(redis, `${prefix}-waits`);
  const credentials = await turnCredentials(lane, source);
  const refused = await credentials.forRequest();
  if (refused === undefined) throw new Error('no token');
  await credentials.ended(refused, { kind: 'unauthorised', reason: '401' });
  for (let turn = 0; turn < 3; turn += 1) {
    now += LIFETIME_MS / 10;
    expect(await credentials.closed()).toBeUndefined();
    expect(credentials.current()).toMatchObject({ generation: 2 });
  }
  const newer = await credentials.forRequest();
  expect(newer).toMatchObject({ generation: 3 });
  expect(credentials.current()).toMatchObject({ generation: 3 });
  if (newer !== undefined) await credentials.ended(newer, { kind: 'refused', reason: '400' });
  now += LIFETIME_MS / 2;
  expect(await credentials.forRequest()).toMatchObject({ generation: 3 });
});

test('a lane notes why it has no token and when it tries again, until its next claim', async () => {
  const redis = connect(url, 'protocol');
  onTestFinished(() => void redis.disconnect());
  const { lane } = openDefaultLane(redis, `${prefix}-noted`);
  const cause = 'api.example refuses connections';
  const later = {
    kind: 'later',
    at: lane.clock() + 3_600_000,
    reason: `No token yet: ${cause}.`,
    cause,
  } as const;
  const { source } = sourceWith('good', 'noted');
  const credentials = await turnCredentials(lane, { ...source, get: async () => later });
  expect(await credentials.closed()).toMatchObject({ why: 'waiting' });
  const noted = await lane.freshStatus();
  expect(noted.closed).toMatchObject([{ cause: 'noToken', why: cause }]);
  expect((noted.closed[0]?.until ?? 0) - noted.now).toBeGreaterThan(3_000_000);

  // While it is trying again, the last reason says more than that there is no answer yet.
  await lane.commands.awaitToken('the account service has not answered yet', 0);
  expect(await lane.freshStatus()).toMatchObject({ closed: [{ cause: 'noToken', why: cause }] });
  await sendClaims(lane).take({ turn: 'next', call: 1, want: 1, seen: 0 });
  expect(await lane.freshStatus()).toMatchObject({ closed: [] });
});

test('a lane says that it waits while the account service does not answer its first login', async () => {
  const redis = connect(url, 'protocol');
  onTestFinished(() => void redis.disconnect());
  const { lane } = openDefaultLane(redis, `${prefix}-silent`);
  const { source } = sourceWith('good', 'silent');
  let answer: (() => void) | undefined;
  const silent = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const turn = turnCredentials(lane, { ...source, get: () => silent.then(() => source.get()) });
  await vi.waitFor(
    async () =>
      expect(await lane.freshStatus()).toMatchObject({
        closed: [{ cause: 'noToken', why: 'the account service has not answered yet' }],
      }),
    SOON,
  );
  answer?.();
  expect((await turn).current()).toBeDefined();
});
