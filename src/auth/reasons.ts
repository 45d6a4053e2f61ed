import type { Account } from './outcome.js';

/** Why no token is to be had until somebody acts. Kept in Redis as spelled here. */
export const STOP_CODES = [
  'badCredential',
  'loginRefused',
  'unanswered',
  'blocked',
  'wrongTarget',
  'tokenRefused',
  'foreignKey',
] as const;
/** See {@link STOP_CODES}. */
export type StopCode = (typeof STOP_CODES)[number];

const AGAIN = 'run `volley token login --again`';

/** One sentence on what happened and one on what to do about it. Names the user, never the password or a token. */
export function stopReason(code: StopCode, account: Account, detail = ''): string {
  const user = JSON.stringify(account.username);
  const said = detail === '' ? '' : ` (${detail})`;
  switch (code) {
    case 'badCredential':
      return `The account service refused the login of ${user} twice: user name or password is not valid (10126). Correct the account's user name and password, new ones are tried at once; to try the same ones again, ${AGAIN}.`;
    case 'loginRefused':
      return `The account service refused the login of ${user} twice${said}. Check the account base URL and the credentials, then ${AGAIN}.`;
    case 'unanswered':
      return `Two logins of ${user} had no clear answer${said}, and this password has never worked yet. Nothing more is tried, so that the account is not blocked: check the account base URL and the password, then ${AGAIN}.`;
    case 'blocked':
      return `The account ${user} is blocked after several failed logins (11044). Reset it by the service's forgot-password page and configure the new password; if the password stays the same, ${AGAIN}.`;
    case 'wrongTarget':
      return `The account service does not accept the target account ${JSON.stringify(account.targetAccountId ?? '')} for ${user} (10117). Correct the target account setting (ACCOUNT_TARGET_ID, only for resellers), or leave it out; to try the same one again, ${AGAIN}.`;
    case 'tokenRefused':
      return `The messaging service refuses (401) even a token fresh from the account service for ${user}. Check that this account may use messaging and that both base URLs belong to the same service, then ${AGAIN}.`;
    case 'foreignKey':
      return `The stored token of ${user} was encrypted under another SECRETS_KEY. Give every process the same SECRETS_KEY; to replace the stored token under this process's key, ${AGAIN}.`;
    default:
      return code satisfies never;
  }
}
