import { beforeEach, expect, test } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { credentialId, type LoginBudget, loginBudget } from '../../../src/service/auth/login-budget.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis } = testRedis('login-budget');
const MINUTE = 60_000;
const PAIR = { kind: 'pair', accessToken: 'a', refreshToken: 'r' } as const;
const NO_ANSWER = { kind: 'noAnswer', reason: 'timeout' } as const;
const NOT_SENT = { kind: 'notSent', reason: 'connection refused' } as const;
const GO = { kind: 'go' };

let now: number;
let serial = 0;
let nonces = 0;
let budget: LoginBudget;

/** The budget of this test, in a process whose attempts may take so long. */
function budgetOf(attemptMs: number): LoginBudget {
  const id = `credential-${serial}`;
  return loginBudget({
    redis,
    keys: keyNames(prefix),
    credentialId: async () => id,
    attemptMs,
    retryAfterMs: [1, 5, 15, 60].map((minutes) => minutes * MINUTE),
    retry: {},
    closing: new AbortController().signal,
    now: () => now,
  });
}

beforeEach(() => {
  now = 1_700_000_000_000;
  serial += 1;
  budget = budgetOf(MINUTE);
});

/** Begins an attempt, settles it with this outcome, and returns the budget's status. */
async function attempt(outcome: Parameters<LoginBudget['settle']>[1], again = false) {
  nonces += 1;
  const nonce = `nonce-${nonces}`;
  expect(await budget.begin(nonce, again)).toEqual(GO);
  return budget.settle(nonce, outcome);
}

/** The attempt in flight takes too long, and is found overdue. So many minutes later, the next one may begin. */
async function becomesOverdue(minutes = 1) {
  now += MINUTE;
  const later = { kind: 'later', ms: minutes * MINUTE };
  expect(await budget.begin('too soon', false)).toMatchObject(later);
  now += minutes * MINUTE;
}

test('a password is tried twice, then not again until an operator allows it', async () => {
  expect(await attempt({ kind: 'badCredential' })).toEqual({ kind: 'open' });
  const stopped = { kind: 'stopped', code: 'badCredential', detail: '' };
  expect(await attempt({ kind: 'badCredential' })).toEqual(stopped);
  now += 365 * 24 * 60 * MINUTE;
  expect(await budget.begin('third', false)).toEqual(stopped);
  expect(await budget.begin('fourth', true)).toEqual(GO);
});

test('an operator’s `--again` allows two more attempts and no more', async () => {
  await attempt({ kind: 'badCredential' });
  await attempt({ kind: 'badCredential' });
  expect(await attempt({ kind: 'badCredential' }, true)).toEqual({ kind: 'open' });
  expect(await attempt({ kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
});

test('a successful login restores both attempts', async () => {
  await attempt({ kind: 'badCredential' });
  expect(await attempt(PAIR)).toEqual({ kind: 'open' });
  expect(await attempt({ kind: 'badCredential' })).toEqual({ kind: 'open' });
});

test('an attempt is counted before it is sent, so an attempt whose process dies counts', async () => {
  expect(await budget.begin('dies', false)).toEqual(GO);
  expect((await budget.read()).attemptsLeft).toBe(1);
  await becomesOverdue();
  expect(await budget.begin('next', false)).toEqual(GO);
  expect((await budget.read()).attemptsLeft).toBe(0);
  expect(await budget.settle('next', { kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
});

test('only one login attempt is in flight at a time', async () => {
  expect(await budget.begin('first', false)).toEqual(GO);
  expect(await budget.begin('second', false)).toEqual({ kind: 'wait', ms: MINUTE });
  expect(await budget.begin('operator', true)).toEqual({ kind: 'wait', ms: MINUTE });
});

test('an attempt that begins twice because the reply was lost counts once', async () => {
  expect(await budget.begin('same', false)).toEqual(GO);
  expect(await budget.begin('same', false)).toEqual(GO);
  expect((await budget.read()).attemptsLeft).toBe(1);
  expect(await budget.settle('same', { kind: 'badCredential' })).toEqual({ kind: 'open' });
  expect(await budget.settle('same', { kind: 'badCredential' })).toEqual({ kind: 'open' });
  expect(await budget.begin('same', false)).toEqual({ kind: 'ended' });
  expect((await budget.read()).attemptsLeft).toBe(1);
});

test('a proven password is retried after 1, 5, 15, and then every 60 minutes without an answer', async () => {
  await attempt(PAIR);
  for (const minutes of [1, 5, 15, 60, 60]) {
    const later = { kind: 'later', ms: minutes * MINUTE, reason: 'timeout' };
    expect(await attempt(NO_ANSWER)).toEqual(later);
    now += minutes * MINUTE - 1;
    expect(await budget.begin('too soon', false)).toEqual({ ...later, ms: 1 });
    now += 1;
  }
  expect((await budget.read()).attemptsLeft).toBe(2);
});

test('a 10126 that mentions a timeout does not count against a proven password', async () => {
  await attempt(PAIR);
  expect(await attempt({ kind: 'loginTimeout' })).toMatchObject({ kind: 'later', ms: MINUTE });
});

test('a successful login resets the growing waits', async () => {
  await attempt(PAIR);
  await attempt(NO_ANSWER);
  now += MINUTE;
  await attempt(PAIR);
  expect(await attempt(NO_ANSWER)).toMatchObject({ kind: 'later', ms: MINUTE });
});

test('an unproven password gets two attempts without an answer, a minute apart', async () => {
  expect(await attempt(NO_ANSWER)).toMatchObject({ kind: 'later', ms: MINUTE });
  now += MINUTE;
  expect(await attempt({ kind: 'loginTimeout' })).toMatchObject({ kind: 'stopped', code: 'unanswered' });
});

test('a process that dies during a login with a proven password delays the next login but does not stop the account', async () => {
  await attempt(PAIR);
  for (const minutes of [1, 5, 15]) {
    expect(await budget.begin(`dies ${minutes}`, false)).toEqual(GO);
    await becomesOverdue(minutes);
  }
  expect(await budget.begin('next', false)).toEqual(GO);
});

test('an attempt that seems overdue because the clock was set forward is waited for, and a refusal counts', async () => {
  await attempt(PAIR);
  await attempt({ kind: 'badCredential' });
  expect(await budget.begin('in flight', false)).toEqual(GO);
  now += 24 * 60 * MINUTE;
  expect(await budget.begin('next', false)).toMatchObject({ kind: 'later', ms: MINUTE });
  expect(await budget.settle('in flight', { kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
  now += MINUTE;
  expect(await budget.begin('next', false)).toMatchObject({ kind: 'stopped', code: 'badCredential' });
});

test('the next attempt waits for as long as the overdue one may take, if that is longer than the usual wait', async () => {
  expect(await budgetOf(10 * MINUTE).begin('dies', false)).toEqual(GO);
  now += 24 * 60 * MINUTE;
  expect(await budget.begin('next', false)).toMatchObject({ kind: 'later', ms: 10 * MINUTE });
});

test('no wait is longer than the longest after the clock was set back', async () => {
  await attempt(PAIR);
  expect(await budget.begin('dies', false)).toEqual(GO);
  now -= 24 * 60 * MINUTE;
  expect(await budget.begin('next', false)).toEqual({ kind: 'wait', ms: MINUTE });
  await becomesOverdue();
  expect(await attempt(NO_ANSWER)).toMatchObject({ kind: 'later', ms: 5 * MINUTE });
  now -= 24 * 60 * MINUTE;
  expect(await budget.begin('next', false)).toMatchObject({ kind: 'later', ms: 60 * MINUTE });
  now += 60 * MINUTE;
  expect(await attempt(PAIR)).toEqual({ kind: 'open' });
});

test('a refusal that arrives after its attempt expired still counts', async () => {
  await attempt(PAIR);
  await budget.begin('late', false);
  await becomesOverdue();
  await budget.begin('next', false);
  await budget.settle('late', { kind: 'badCredential' });
  expect(await budget.settle('next', { kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
});

test('a success that arrives after its attempt expired still proves the password', async () => {
  await budget.begin('late', false);
  await becomesOverdue();
  await budget.begin('next', false);
  expect(await budget.settle('next', NO_ANSWER)).toMatchObject({ kind: 'stopped' });
  expect(await budget.settle('late', PAIR)).toEqual({ kind: 'open' });
});

test('a success that arrives late does not forget an attempt that began meanwhile', async () => {
  await budget.begin('late', false);
  await becomesOverdue();
  await budget.begin('next', false);
  await budget.settle('late', PAIR);
  await budget.settle('next', { kind: 'badCredential' });
  expect(await attempt({ kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
});

test('a success that is reported again does not forget a refusal that came since', async () => {
  const nonce = 'proven';
  await budget.begin(nonce, false);
  await budget.settle(nonce, PAIR);
  await attempt({ kind: 'badCredential' });
  expect(await budget.settle(nonce, PAIR)).toEqual({ kind: 'open' });
  expect(await attempt({ kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
});

test('a success that arrives late does not forget a refusal that came since', async () => {
  await budget.begin('late', false);
  await becomesOverdue();
  expect(await attempt({ kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
  expect(await budget.settle('late', PAIR)).toEqual({ kind: 'open' });
  expect(await attempt({ kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
});

test('a success that arrives late leaves a password stopped that was refused twice since', async () => {
  await attempt(PAIR);
  await budget.begin('late', false);
  await becomesOverdue();
  await attempt({ kind: 'badCredential' });
  expect(await attempt({ kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
  expect(await budget.settle('late', PAIR)).toMatchObject({ kind: 'stopped', code: 'badCredential' });
});

test('once a success arrives late, attempts without an answer no longer count', async () => {
  await budget.begin('late', false);
  await becomesOverdue();
  expect(await attempt(NO_ANSWER)).toMatchObject({ kind: 'stopped', code: 'unanswered' });
  await budget.settle('late', PAIR);
  expect((await budget.read()).attemptsLeft).toBe(2);
});

test('each of several attempts that expired still counts when its refusal arrives', async () => {
  await attempt(PAIR);
  await budget.begin('first', false);
  await becomesOverdue();
  await budget.begin('second', false);
  await becomesOverdue(5);
  await attempt(NOT_SENT);
  expect(await budget.settle('first', { kind: 'badCredential' })).toEqual({ kind: 'open' });
  expect(await budget.settle('second', { kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
});

test('a refusal that arrives late while another attempt succeeds still counts', async () => {
  await attempt(PAIR);
  await budget.begin('late', false);
  await becomesOverdue();
  await budget.begin('next', false);
  await budget.settle('late', { kind: 'badCredential' });
  expect(await budget.settle('next', PAIR)).toEqual({ kind: 'open' });
  expect((await budget.read()).attemptsLeft).toBe(1);
});

test('a refusal of an attempt that an operator’s `--again` overtook takes back no other one', async () => {
  await budget.begin('late', false);
  now += MINUTE;
  expect(await attempt(NO_ANSWER, true)).toMatchObject({ kind: 'later' });
  expect(await budget.settle('late', { kind: 'badCredential' })).toMatchObject({ kind: 'stopped' });
});

test('a blocked account that is reported again after an operator’s `--again` stays open', async () => {
  await budget.begin('blocked', false);
  await budget.settle('blocked', { kind: 'blocked' });
  expect(await attempt({ kind: 'wrongTarget' }, true)).toEqual({ kind: 'open' });
  expect(await budget.settle('blocked', { kind: 'blocked' })).toEqual({ kind: 'open' });
});

test('a blocked account stops after one login', async () => {
  expect(await attempt({ kind: 'blocked' })).toMatchObject({ kind: 'stopped', code: 'blocked' });
});

test('a wrong target account and an unsent attempt do not count against the password', async () => {
  await attempt({ kind: 'wrongTarget' });
  await attempt(NOT_SENT);
  await attempt({ kind: 'wrongTarget' });
  expect((await budget.read()).attemptsLeft).toBe(2);
});

test('attempts of which nothing left never count, however many there are', async () => {
  for (let tries = 0; tries < 5; tries += 1) expect(await attempt(NOT_SENT)).toEqual({ kind: 'open' });
  expect((await budget.read()).attemptsLeft).toBe(2);
});

test('an attempt that reports too late that nothing of it left does not count, and opens a budget that it closed', async () => {
  await budget.begin('late', false);
  await becomesOverdue();
  await budget.begin('next', false);
  expect(await budget.settle('next', NO_ANSWER)).toMatchObject({ kind: 'stopped', code: 'unanswered' });
  now += MINUTE;
  expect(await budget.settle('late', NOT_SENT)).toEqual({ kind: 'open' });
  expect((await budget.read()).attemptsLeft).toBe(1);
});

test('any other refusal counts like a wrong password and keeps the service’s reason', async () => {
  await attempt({ kind: 'refused', reason: 'HTTP 403' });
  expect(await attempt({ kind: 'refused', reason: 'HTTP 403' })).toEqual({
    kind: 'stopped',
    code: 'loginRefused',
    detail: 'HTTP 403',
  });
});

test('each user and password has its own login budget, whatever the target account', async () => {
  const account = { username: 'ann', password: 'secret' };
  const id = await credentialId(account);
  expect(await credentialId({ ...account, targetAccountId: '7' })).toBe(id);
  expect(await credentialId({ ...account, password: 'other' })).not.toBe(id);
  expect(await credentialId({ ...account, username: 'bob' })).not.toBe(id);
  expect(id).not.toContain('secret');
});
