import { expect, test } from 'vitest';
import { accountId, lifetimeOf } from '../../../src/service/auth/token-record.js';
import { jwt } from './account-service.js';

test('a token lasts exp − iat, whatever the clocks say, and is renewed in the last 15% of that time', () => {
  expect(lifetimeOf(jwt({ iat: 1000, exp: 4600 }))).toEqual({
    expiresAfterMs: 3_600_000,
    renewAfterMs: 3_060_000,
  });
});

test.each([
  ['milliseconds', { iat: 1_772_445_600_000, exp: 1_772_449_200_000 }],
  ['milliseconds since a second', { iat: 1_772_445_600, exp: 1_772_449_200_000 }],
  ['seconds since a millisecond', { iat: 1_772_445_600_000, exp: 1_772_449_200 }],
  ['texts', { iat: '1772445600', exp: '1772449200' }],
])('a token whose times are %s lasts as long', (_what, times) => {
  expect(lifetimeOf(jwt(times))?.expiresAfterMs).toBe(3_600_000);
});

test.each([
  ['no exp', jwt({ iat: 1000 })],
  ['no iat', jwt({ exp: 1000 })],
  ['an exp no later than its iat', jwt({ iat: 1000, exp: 1000 })],
  ['an exp that is no number', jwt({ iat: 1000, exp: 'tomorrow' })],
  ['a format other than JWT', 'opaque'],
])('a token with %s has no known lifetime', (_what, token) => {
  expect(lifetimeOf(token)).toBeUndefined();
});

test('each account and target account has its own token, whatever the password', () => {
  const account = { username: 'ann', password: 'secret' };
  const id = accountId(account);
  expect(accountId({ ...account, password: 'other' })).toBe(id);
  expect(accountId({ ...account, targetAccountId: '7' })).not.toBe(id);
  expect(accountId({ ...account, username: 'bob' })).not.toBe(id);
});
