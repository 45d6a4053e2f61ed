import { createHash, createHmac, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { Account } from './outcome.js';

const derive = promisify<string, string, number, Buffer>(scrypt);

/** A digest that names the token of one account and target account; the same in every process. */
export function accountId(account: Account): string {
  const names = JSON.stringify([account.username, account.targetAccountId ?? null]);
  return createHash('sha256').update(`volley account ${names}`).digest('hex').slice(0, 32);
}

/** Deriving is slow on purpose (about 50 ms), so a process with many lanes of one user does it once. */
const derived = new Map<string, Promise<string>>();

/**
 * An HMAC that names the login budget of one user and password, whatever the target account: the service also adds up the
 * failed logins of all lanes that share them. It does not depend on SECRETS_KEY, or a fleet with two keys would have two
 * budgets. It becomes part of a key's name in Redis, so its derivation is slow: a weak password is hard to guess from it.
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
