import { createHash, createHmac, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { Account } from './outcome.js';

const derive = promisify<string, string, number, Buffer>(scrypt);

/** Names the token of one account and target account; the same in every process, and not the names themselves. */
export function accountId(account: Account): string {
  const names = JSON.stringify([account.username, account.targetAccountId ?? null]);
  return createHash('sha256').update(`volley account ${names}`).digest('hex').slice(0, 32);
}

/**
 * Names the login budget of one user and password, whatever the target account: failed logins of all lanes that
 * share them add up at the service as well. It does not depend on SECRETS_KEY, or two keys in one fleet would have
 * two budgets. It ends up as the name of a key, so guessing a weak password from it is made slow.
 */
export async function credentialId(account: Account): Promise<string> {
  const slow = await derive(account.password, `volley login ${account.username}`, 32);
  return createHmac('sha256', slow).update('volley login budget').digest('hex').slice(0, 32);
}
