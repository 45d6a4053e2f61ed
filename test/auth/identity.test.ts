import { expect, test } from 'vitest';
import { accountId, credentialId } from '../../src/auth/identity.js';

const account = { username: 'ann', password: 'secret' };

test('each account and target account has its own token, whatever the password', () => {
  const id = accountId(account);
  expect(accountId({ ...account, password: 'other' })).toBe(id);
  expect(accountId({ ...account, targetAccountId: '7' })).not.toBe(id);
  expect(accountId({ ...account, username: 'bob' })).not.toBe(id);
});

test('each user and password has its own login budget, whatever the target account', async () => {
  const id = await credentialId(account);
  expect(await credentialId({ ...account, targetAccountId: '7' })).toBe(id);
  expect(await credentialId({ ...account, password: 'other' })).not.toBe(id);
  expect(await credentialId({ ...account, username: 'bob' })).not.toBe(id);
  expect(id).not.toContain('secret');
});
