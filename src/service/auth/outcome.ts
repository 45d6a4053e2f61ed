import type { AccountCredentials } from '../../base/account.js';

/** What a caller that wants to send a request gets. */
export type TokenOutcome =
  /**
   * Usable now. `generation` names the pair: pass it to `replaceRefused` if the service answers 401 to the token. `ageMs`: how long
   * ago it was received, by whichever process.
   */
  | { kind: 'token'; token: string; generation: number; ageMs: number }
  /** No token before `at` (ms since the epoch, this machine's clock). `cause`: the reason without its beginning and its full stop. */
  | { kind: 'later'; at: number; reason: string; cause: string }
  /** No token until an operator acts; `reason` says what to do. */
  | { kind: 'stopped'; reason: string };

/** Why there is no token until an operator acts. Redis stores these codes. */
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

// HTTP serves these reasons, too, so they name no option. The command says how to log in again.
const AGAIN = 'run `volley token login`';

/** Says what happened and what to do about it. Names the user, never the password or a token. */
export function stopReason(code: StopCode, account: AccountCredentials, detail = ''): string {
  const user = JSON.stringify(account.username);
  const answer = detail === '' ? '' : ` (${detail})`;
  if (account.scope !== undefined) return clientStopReason(code, user, answer);
  switch (code) {
    case 'badCredential':
      return `The account service refused the login of ${user} twice: user name or password is not valid (10126). Correct them and restart the workers, which then try the new ones at once; to try the same ones again, ${AGAIN}.`;
    case 'loginRefused':
      return `The account service refused the login of ${user} twice${answer}. Check the account base URL and the credentials, then ${AGAIN}.`;
    case 'unanswered':
      return `Two logins of ${user} got no clear answer${answer}, and this password has never worked. Volley has stopped trying so that the account is not blocked: check the account base URL and the password, then ${AGAIN}.`;
    case 'blocked':
      return `The account ${user} is blocked after several failed logins (11044). Reset it on the service's forgot-password page, configure the new password, and restart the workers; if the password stays the same, ${AGAIN}.`;
    case 'wrongTarget':
      return `The account service does not accept the target account ${JSON.stringify(account.targetAccountId ?? '')} for ${user} (10117). Correct the target account setting (ACCOUNT_TARGET_ID, only for resellers), or remove it, and restart the workers; to try the same one again, ${AGAIN}.`;
    case 'tokenRefused':
      return `The messaging service refuses (401) even a fresh token from the account service for ${user}. Check that this account may use messaging and that both base URLs belong to the same service, then ${AGAIN}.`;
    case 'foreignKey':
      return `The stored token of ${user} was encrypted with another SECRETS_KEY. Give every process the same SECRETS_KEY; to replace the stored token with one under this process's key, ${AGAIN}.`;
    default:
      return code satisfies never;
  }
}

/** The same for an OAuth 2 client. */
function clientStopReason(code: StopCode, client: string, answer: string): string {
  switch (code) {
    case 'badCredential':
    case 'blocked':
    case 'wrongTarget':
    case 'loginRefused':
      return `The token service refused the client ${client} twice${answer}. Check TOKEN_URL and the client's id, secret, and product, then ${AGAIN}.`;
    case 'unanswered':
      return `Two token requests of the client ${client} got no clear answer${answer}, and this secret has never worked. Volley has stopped trying so that the client is not blocked: check TOKEN_URL and the secret, then ${AGAIN}.`;
    case 'tokenRefused':
      return `The messaging service refuses (401) even a fresh token of the client ${client}. Check its product, and that TOKEN_URL and the base URL belong to the same service, then ${AGAIN}.`;
    case 'foreignKey':
      return `The stored token of the client ${client} was encrypted with another SECRETS_KEY. Give every process the same SECRETS_KEY; to replace the stored token with one under this process's key, ${AGAIN}.`;
    default:
      return code satisfies never;
  }
}
