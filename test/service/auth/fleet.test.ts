import { randomBytes } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import type { TokenOutcome } from '../../../src/service/auth/outcome.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { accountServer } from './account-server.js';
import { accountService, serialOf } from './account-service.js';
import { fleetStarter, type Member, type Order } from './fleet.js';

const { url: redisUrl, prefix } = testRedis('token-fleet');
const startMember = fleetStarter();
const PROCESSES = 4;
const CALLERS = 50;
const SOON = { timeout: 60_000 };
/** Long enough that all processes have the first token before it expires, even on a busy machine. */
const LIFE_MS = 6_000;

/** The timeout of a process that is killed. The next one waits twice as long for it; a busy process needs a second for its first request. */
const KILLED = { requestTimeoutMs: 3_000 };

/** A new account, and functions that start processes that use it. An answer after the timeout of a process counts as none, so it is long. */
async function account(lifeMs?: number) {
  const { url: accountUrl, service } = await accountServer(accountService(lifeMs));
  const username = `user-${randomBytes(4).toString('hex')}`;
  const start = ({ requestTimeoutMs = 15_000 } = {}) =>
    startMember({ redisUrl, prefix, accountUrl, username, password: 'secret', requestTimeoutMs });
  const startFleet = () => Promise.all(Array.from({ length: PROCESSES }, () => start()));
  return { service, start, startFleet };
}

async function orderAll(fleet: Member[], order: Order): Promise<TokenOutcome[]> {
  return (await Promise.all(fleet.map((member) => member.order(order)))).flat();
}

function serials(outcomes: TokenOutcome[]): Set<unknown> {
  return new Set(outcomes.map((got) => (got.kind === 'token' ? serialOf(got.token) : got.kind)));
}

test('an expired token costs 4 processes with 50 callers each one refresh', async () => {
  const { service, startFleet } = await account(LIFE_MS);
  const fleet = await startFleet();
  expect(serials(await orderAll(fleet, { callers: CALLERS }))).toEqual(new Set([1]));
  service.lifeMs = 60_000;
  service.latencyMs = 100;
  const expired = Date.now() + LIFE_MS;
  await vi.waitUntil(() => Date.now() >= expired, SOON);
  const got = await orderAll(fleet, { callers: CALLERS });
  expect(got).toHaveLength(PROCESSES * CALLERS);
  expect(serials(got)).toEqual(new Set([2]));
  expect([service.logins, service.presented]).toEqual([1, ['refresh-1']]);
});

test('a refused token (401) costs 4 processes with 50 callers each one refresh', async () => {
  const { service, startFleet } = await account();
  const fleet = await startFleet();
  await orderAll(fleet, { callers: 1 });
  service.latencyMs = 100;
  expect(serials(await orderAll(fleet, { callers: CALLERS, refused: 1 }))).toEqual(new Set([2]));
  expect([service.logins, service.presented]).toEqual([1, ['refresh-1']]);
});

test('4 processes with 50 callers each try a wrong password twice, across restarts; then all callers get the reason', async () => {
  const { service, start, startFleet } = await account();
  service.loginEnds = { kind: 'badCredential' };
  service.latencyMs = 50;
  const fleet = await startFleet();
  const got = await orderAll(fleet, { callers: CALLERS });
  await Promise.all(fleet.map((member) => member.kill()));
  got.push(...(await (await start()).order({ callers: CALLERS })));
  const reasons = new Set(
    got.map((each) => (each.kind === 'token' ? each.kind : `${each.kind}: ${each.reason}`)),
  );
  const why = /^stopped: .*refused the login of "user-.*" twice.*10126.*`volley token login`/s;
  expect([...reasons]).toEqual([expect.stringMatching(why)]);
  expect(service.logins).toBe(2);
});

test('after a kill -9 during a refresh the next process logs in and does not present the refresh token again', async () => {
  const { service, start } = await account();
  const victim = await start(KILLED);
  await victim.order({ callers: 1 });
  service.latencyMs = 60_000;
  void victim.order({ callers: 1, refused: 1 });
  await vi.waitFor(() => expect(service.presented).toEqual(['refresh-1']), SOON);
  await victim.kill();
  service.latencyMs = 0;
  const heir = await start();
  await vi.waitFor(async () => {
    expect(serials(await heir.order({ callers: CALLERS, refused: 1 }))).toEqual(new Set([2]));
  }, SOON);
  expect([service.logins, service.presented]).toEqual([2, ['refresh-1']]);
});

test('a login interrupted by kill -9 counts as an attempt', async () => {
  const { service, start } = await account();
  const victim = await start(KILLED);
  service.latencyMs = 60_000;
  void victim.order({ callers: 1 });
  await vi.waitFor(() => expect(service.logins).toBe(1), SOON);
  await victim.kill();
  service.latencyMs = 0;
  service.loginEnds = { kind: 'badCredential' };
  const heir = await start();
  await vi.waitFor(async () => {
    const reason = expect.stringContaining('the process that logged in has died');
    expect(await heir.order({ callers: 1 })).toMatchObject([{ kind: 'later', reason }]);
  }, SOON);
  expect(service.logins).toBe(1);
});
