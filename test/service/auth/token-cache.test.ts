import { expect, test, vi } from 'vitest';
import { systemMachine } from '../../../src/base/clock.js';
import { parseDuration } from '../../../src/base/duration.js';
import { connect } from '../../../src/base/redis/connection.js';
import type { LoginOutcome } from '../../../src/service/login-outcome.js';
import { slowLogin, stopFrom, tokenFrom } from './account-service.js';
import { tokenCaches } from './token-caches.js';

const { url, redis, own, cache, tokenKey } = tokenCaches('token-cache');
const SOON = { timeout: 60_000 };

test('the first caller logs in, and all other callers get the same token', async () => {
  const [one, other] = [cache(), cache()];
  const got = await Promise.all([one, other, one, other].map((each) => tokenFrom(each.get())));
  expect(got).toEqual(Array(4).fill({ serial: 1, generation: 1 }));
  expect(own.service.logins).toBe(1);
});

test('a token in memory needs no call to Redis', async () => {
  const one = cache();
  await one.get();
  const scripts = vi.spyOn(redis, 'evalsha');
  for (let call = 0; call < 100; call += 1) await one.get();
  expect(scripts).not.toHaveBeenCalled();
  scripts.mockRestore();
});

test('a token about to expire remains in use while one process fetches the next one', async () => {
  own.service.lifeMs = 4_000;
  let time = 0;
  const machine = { ...systemMachine, monotonic: () => time };
  const fleet = [cache({ machine }), cache({ machine })];
  for (const each of fleet) await each.get();
  own.service.latencyMs = 50;
  time = 3_500;
  for (const each of fleet) expect(await tokenFrom(each.get())).toMatchObject({ generation: 1 });
  await vi.waitFor(async () => {
    for (const each of fleet) expect(await tokenFrom(each.get())).toMatchObject({ generation: 2 });
  }, SOON);
  expect([own.service.logins, own.service.presented]).toEqual([1, ['refresh-1']]);
});

test('each refresh exchanges the latest refresh token for a new pair, without another login', async () => {
  const one = cache();
  for (const generation of [1, 2, 3]) {
    expect(await tokenFrom(one.get())).toEqual({ serial: generation, generation });
    await one.refreshNow();
  }
  expect(own.service.presented).toEqual(['refresh-1', 'refresh-2', 'refresh-3']);
  expect(own.service.logins).toBe(1);
});

test('a token without an expiry is used until a 401', async () => {
  own.service.lifeMs = undefined;
  let time = 0;
  const one = cache({ machine: { ...systemMachine, monotonic: () => time } });
  await one.get();
  time = 365 * 24 * 3_600_000;
  expect(await tokenFrom(one.get())).toMatchObject({ generation: 1 });
  expect(await tokenFrom(one.replaceRefused(1))).toEqual({ serial: 2, generation: 2 });
});

test('tokens without an expiry are renewed in time once two of them have been refused', async () => {
  own.service.lifeMs = undefined;
  const one = cache({ freshMs: 200 });
  const isOld = (generation: number) =>
    vi.waitFor(async () => {
      const { age, generation: current } = await one.show();
      expect(current).toBe(generation);
      expect(parseDuration(age ?? '')).toBeGreaterThan(400);
    }, SOON);
  await one.get();
  await isOld(1);
  expect(await tokenFrom(one.replaceRefused(1))).toMatchObject({ generation: 2 });
  expect((await one.show()).expiresIn).toBeNull();
  await isOld(2);
  expect(await tokenFrom(one.replaceRefused(2))).toMatchObject({ generation: 3 });
  expect(parseDuration((await one.show()).expiresIn ?? '')).toBeGreaterThan(0);
  await vi.waitFor(async () => expect((await one.show()).state).toBe('expired'), SOON);
  expect(await tokenFrom(cache().get())).toMatchObject({ generation: 4 });
});

test('a fresh token that is refused too stops the account for the whole fleet until an operator logs in again', async () => {
  const [one, other] = [cache(), cache()];
  await one.get();
  await one.replaceRefused(1);
  expect(await stopFrom(one.replaceRefused(2))).toMatch(/401.*fresh.*`volley token login`/s);
  expect(await stopFrom(other.get())).toMatch(/may use messaging/);
  expect(await stopFrom(one.login({ again: false }))).toMatch(/401/);
  expect(own.service.presented).toHaveLength(1);
  expect(await tokenFrom(one.login({ again: true }))).toMatchObject({ generation: 3 });
  expect(await tokenFrom(other.get())).toMatchObject({ generation: 3 });
});

test('a refused token that seems to be from the future, because the clock of Redis was set back, does not stop the account', async () => {
  const one = cache();
  await one.get();
  await one.replaceRefused(1);
  await redis.hset(tokenKey(), 'receivedAt', Date.now() + 3_600_000);
  expect(await tokenFrom(one.replaceRefused(2))).toMatchObject({ generation: 3 });
  expect(await stopFrom(one.replaceRefused(3))).toMatch(/401.*fresh/s);
});

test('a token fetched because of a 401 that then worked for a while may be refreshed again', async () => {
  const one = cache({ freshMs: 0 });
  await one.get();
  await one.replaceRefused(1);
  expect(await tokenFrom(one.replaceRefused(2))).toMatchObject({ generation: 3 });
});

test('a refresh that is refused or unanswered leads to a login, and its refresh token is never presented again', async () => {
  const one = cache();
  await one.get();
  own.service.refreshEnds = { kind: 'noAnswer', reason: 'timeout' };
  expect(await tokenFrom(one.replaceRefused(1))).toMatchObject({ generation: 2 });
  own.service.refreshEnds = { kind: 'refused', reason: 'HTTP 401' };
  expect(await tokenFrom(one.refreshNow())).toMatchObject({ generation: 3 });
  expect([own.service.logins, own.service.presented]).toEqual([3, ['refresh-1', 'refresh-2']]);
});

test('an operator may log in again after the account service refused a correct password', async () => {
  own.service.loginEnds = { kind: 'badCredential' };
  const blockedReason = await stopFrom(cache().get());
  expect(await stopFrom(cache().login({ again: false }))).toBe(blockedReason);
  expect(await cache().show()).toMatchObject({
    state: 'stopped',
    login: { attemptsLeft: 0, proven: false },
    blockedReason,
  });
  expect(own.service.logins).toBe(2);
  await stopFrom(cache().login({ again: true }));
  expect(own.service.logins).toBe(4);
  own.service.loginEnds = undefined;
  await tokenFrom(cache().login({ again: true }));
  expect(await cache().show()).toMatchObject({ state: 'usable', login: { attemptsLeft: 2, proven: true } });
});

test('a blocked account stops after the first response, and the reason names the forgot-password page', async () => {
  own.service.loginEnds = { kind: 'blocked' };
  expect(await stopFrom(cache().get())).toMatch(/11044.*forgot-password/s);
  await stopFrom(cache().get());
  expect(own.service.logins).toBe(1);
});

test('a refresh that is refused because the account is blocked does not lead to a login', async () => {
  const one = cache();
  await one.get();
  own.service.refreshEnds = { kind: 'blocked' };
  expect(await stopFrom(one.replaceRefused(1))).toMatch(/11044/);
  expect(own.service.logins).toBe(1);
});

test('a wrong target account stops its own lane, names the setting, and leaves the user’s other lanes alone', async () => {
  const wrong = { account: { username: own.username, password: 'right', targetAccountId: '999' } };
  own.service.loginEnds = { kind: 'wrongTarget' };
  expect(await stopFrom(cache(wrong).get())).toMatch(/"999".*10117.*ACCOUNT_TARGET_ID/s);
  expect(await stopFrom(cache(wrong).get())).toMatch(/10117/);
  expect(own.service.logins).toBe(1);
  own.service.loginEnds = undefined;
  await tokenFrom(cache().get());
  await tokenFrom(cache(wrong).login({ again: true }));
});

test('without an answer from the account service, a proven account waits, reports until when, and then continues', async () => {
  const one = cache({ retryAfterMs: [300] });
  await one.get();
  own.service.loginEnds = { kind: 'noAnswer', reason: 'connect ECONNREFUSED' };
  own.service.refreshEnds = own.service.loginEnds;
  const asked = Date.now();
  const got = await one.replaceRefused(1);
  expect(got).toMatchObject({ kind: 'later', reason: expect.stringContaining('ECONNREFUSED') });
  expect(got.kind === 'later' ? got.at - asked : 0).toBeGreaterThan(200);
  expect(await cache({ retryAfterMs: [300] }).get()).toMatchObject({ kind: 'token', generation: 1 });
  expect(own.service.logins).toBe(2);
  own.service.loginEnds = undefined;
  await vi.waitFor(
    async () => expect(await tokenFrom(one.replaceRefused(1))).toMatchObject({ generation: 2 }),
    SOON,
  );
  expect([own.service.logins, own.service.presented]).toEqual([3, ['refresh-1']]);
});

test('logins of a new account that cannot be sent spend none of its attempts, and are tried again ever more rarely', async () => {
  own.service.loginEnds = { kind: 'notSent', reason: 'account.example refuses connections' };
  let time = 0;
  const one = cache({
    machine: { ...systemMachine, clock: () => time, monotonic: () => time, random: () => 0.5 },
  });
  for (const waitMs of [1_000, 5_000, 15_000, 60_000, 60_000]) {
    const reason = expect.stringContaining('refuses connections');
    expect(await one.get()).toMatchObject({ kind: 'later', reason, at: time + waitMs });
    const logins = own.service.logins;
    time += waitMs - 1;
    expect(await one.get()).toMatchObject({ kind: 'later', reason: expect.stringContaining('refuses') });
    expect(own.service.logins).toBe(logins);
    time += 1;
  }
  expect((await one.show()).login).toMatchObject({ attemptsLeft: 2, proven: false });
  own.service.loginEnds = undefined;
  expect(await tokenFrom(one.get())).toEqual({ serial: 1, generation: 1 });
});

test('an operator can log in again at once after a login that could not be sent', async () => {
  own.service.loginEnds = { kind: 'notSent', reason: 'connection refused' };
  const one = cache();
  expect(await one.get()).toMatchObject({ kind: 'later' });
  own.service.loginEnds = undefined;
  expect(await tokenFrom(one.login({ again: true }))).toEqual({ serial: 1, generation: 1 });
});

test('a refresh token that could not be sent is presented again, and costs no login', async () => {
  let time = 0;
  const machine = { ...systemMachine, monotonic: () => time };
  const one = cache({ machine });
  await one.get();
  own.service.refreshEnds = { kind: 'notSent', reason: 'connection refused' };
  expect(await one.replaceRefused(1)).toMatchObject({ kind: 'later' });
  expect((await one.show()).refreshToken).toBe('ready');
  own.service.refreshEnds = undefined;
  time += 2_000;
  expect(await tokenFrom(one.replaceRefused(1))).toMatchObject({ generation: 2 });
  expect([own.service.logins, own.service.presented]).toEqual([1, ['refresh-1', 'refresh-1']]);
});

test('a refresh token that was presented is not presented again after a login that could not be sent', async () => {
  let time = 0;
  const machine = { ...systemMachine, monotonic: () => time };
  const one = cache({ machine });
  await one.get();
  own.service.refreshEnds = { kind: 'noAnswer', reason: 'connection reset' };
  own.service.loginEnds = { kind: 'notSent', reason: 'connection refused' };
  expect(await one.replaceRefused(1)).toMatchObject({ kind: 'later' });
  expect(await one.replaceRefused(1)).toMatchObject({ kind: 'later' });
  expect((await one.show()).refreshToken).toBe('spent');
  own.service.loginEnds = undefined;
  time += 2_000;
  expect(await tokenFrom(one.replaceRefused(1))).toMatchObject({ generation: 2 });
  expect(own.service.presented).toEqual(['refresh-1']);
});

test('a request that is cancelled before it is connected names the request timeout as the reason', async () => {
  const login = (signal?: AbortSignal) =>
    new Promise<LoginOutcome>((resolve) => {
      signal?.addEventListener('abort', () => resolve({ kind: 'notSent', reason: 'cancelled' }));
    });
  expect(await cache({ login, requestTimeoutMs: 500 }).get()).toMatchObject({
    kind: 'later',
    reason: expect.stringContaining('no connection to the account service within the request timeout'),
  });
});

test('a login function that throws counts as no answer', async () => {
  const login = () => Promise.reject(new Error('a bug'));
  expect(await cache({ login }).get()).toMatchObject({
    kind: 'later',
    reason: expect.stringContaining('a bug'),
  });
});

test('a caller waits for another process’s fetch, for one lease at most', async () => {
  const slow = slowLogin();
  const first = tokenFrom(cache({ requestTimeoutMs: 60_000, login: slow.login }).get());
  await vi.waitFor(() => expect(slow.isRequested()).toBe(true), SOON);
  expect(await cache({ requestTimeoutMs: 500 }).get()).toMatchObject({
    kind: 'later',
    reason: expect.stringContaining('another process'),
  });
  slow.answer();
  expect(await first).toMatchObject({ generation: 1 });
  expect(own.service.logins).toBe(0);
});

test('a caller does not wait for a lease without an expiry, which only a backup can restore', async () => {
  await redis.set(`${tokenKey()}:lease`, 'restored');
  expect(await tokenFrom(cache().get())).toEqual({ serial: 1, generation: 1 });
});

test('a caller does not wait for a lease that lasts longer than any, because the clock of Redis was set back', async () => {
  await redis.set(`${tokenKey()}:lease`, 'dead', 'PX', 3_600_000);
  expect(await tokenFrom(cache().get())).toEqual({ serial: 1, generation: 1 });
});

test('a token pair that arrives after another process has taken over is discarded', async () => {
  const frozen = slowLogin();
  const late = tokenFrom(cache({ requestTimeoutMs: 500, login: frozen.login }).get());
  await vi.waitFor(() => expect(frozen.isRequested()).toBe(true), SOON);
  const quick = cache({ retryAfterMs: [0] });
  await vi.waitFor(
    async () => expect(await tokenFrom(quick.get())).toEqual({ serial: 1, generation: 1 }),
    SOON,
  );
  frozen.answer();
  expect(await late).toEqual({ serial: 1, generation: 1 });
});

test('a process held up between its claim and its request claims again before it sends the request', async () => {
  let time = 0;
  const connection = connect(url);
  const scripts = vi.spyOn(connection, 'evalsha');
  const heldUpUntilScript = 2;
  const monotonic = () => {
    if (scripts.mock.calls.length === heldUpUntilScript) time += 15_000;
    return time;
  };
  let scriptsBeforeLogin = 0;
  const login = () => {
    scriptsBeforeLogin = scripts.mock.calls.length;
    return own.service.login();
  };
  expect(
    await tokenFrom(cache({ redis: connection, machine: { ...systemMachine, monotonic }, login }).get()),
  ).toEqual({
    serial: 1,
    generation: 1,
  });
  expect(scriptsBeforeLogin).toBe('claim begin settle claim begin'.split(' ').length);
  connection.disconnect();
});

test('after a Redis failover the stored refresh token is not presented', async () => {
  const { generation } = await tokenFrom(cache().get());
  // The new server may have lost the mark that the refresh token is spent, or a later pair.
  await redis.hset(tokenKey(), 'run', 'another');
  const other = await tokenFrom(cache().replaceRefused(generation));
  expect(other.generation).toBe(generation + 1);
  expect([own.service.logins, own.service.presented]).toEqual([2, []]);
});

test('after Redis lost the latest pair, the older refresh token is not presented', async () => {
  const one = cache();
  await one.get();
  const before = await redis.hgetall(tokenKey());
  await one.replaceRefused(1);
  await redis.del(tokenKey());
  await redis.hset(tokenKey(), before);
  expect(await tokenFrom(one.replaceRefused(2))).toMatchObject({ generation: 3 });
  expect(own.service.presented).toEqual(['refresh-1']);
});

test('a process with a valid token picks up a newer one in the background', async () => {
  const one = cache({ compareEveryMs: 0 });
  await one.get();
  expect(await tokenFrom(cache().refreshNow())).toMatchObject({ generation: 2 });
  await vi.waitFor(async () => expect(await tokenFrom(one.get())).toMatchObject({ generation: 2 }), SOON);
});

test('the shown state contains no token', async () => {
  const pair = { kind: 'pair', accessToken: 'marked-access', refreshToken: 'marked-refresh' } as const;
  expect(await cache().show()).toMatchObject({
    state: 'none',
    generation: 0,
    age: null,
    refreshToken: 'none',
  });
  own.service.loginEnds = pair;
  await cache().get();
  const shown = await cache().show();
  expect(shown).toMatchObject({ state: 'usable', generation: 1, expiresIn: null, refreshToken: 'ready' });
  expect(JSON.stringify(shown)).not.toContain('marked-');
});

test('a caller that aborts stops waiting, and the other callers get their token', async () => {
  own.service.latencyMs = 100;
  const one = cache();
  const leaving = new AbortController();
  const left = one.get(leaving.signal);
  const stays = tokenFrom(one.get());
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  expect(await stays).toEqual({ serial: 1, generation: 1 });
});

test('a closing process finishes its own refresh and stops waiting for the refreshes of others', async () => {
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const one = cache({ refresh: (token) => answered.then(() => own.service.refresh(token)) });
  await one.get();
  const refreshing = one.replaceRefused(1);
  const waiting = cache();
  await vi.waitFor(async () => expect(await waiting.show()).toMatchObject({ fetching: true }), SOON);
  const waited = waiting.replaceRefused(1);
  await waiting.close();
  expect(await waited).toMatchObject({ kind: 'later', reason: expect.stringContaining('shutting down') });
  answer();
  await one.close();
  expect(await tokenFrom(refreshing)).toMatchObject({ generation: 2 });
});
