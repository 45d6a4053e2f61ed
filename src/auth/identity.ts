import { createHash, createHmac, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { Account } from './outcome.js';

const derive = promisify<string, string, number, Buffer>(scrypt);

/** Names the token of one account and target account; the same in every process, and not the names themselves. */
export function accountId(account: Account): string {
  const names = JSON.stringify([account.username, account.targetAccountId ?? null]);
  return createHash('sha256').update(`volley account ${names}`).digest('hex').slice(0, 32);
}

/** Deriving takes some 50 ms by intent; a process with many lanes of one user does it once. */
const derived = new Map<string, Promise<string>>();

/**
 * Names the login budget of one user and password, whatever the target account: failed logins of all lanes that
 * share them add up at the service as well. It does not depend on SECRETS_KEY, or two keys in one fleet would have
 * two budgets. It ends up as the name of a key, so guessing a weak password from it is made slow.
 */
export function credentialId({ username, password }: Account): Promise<string> {
  const names = JSON.stringify([username, password]);
  const known = derived.get(names) ?? derive(password, `volley login ${username}`, 32).then(nameOf);
  derived.set(names, known);
  return known;
}

function nameOf(slow: Buffer): string {
  return createHmac('sha256', slow).update('volley login budget').digest('hex').slice(0, 32);
}
