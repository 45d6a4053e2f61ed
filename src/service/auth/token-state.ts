import type { AccountCredentials } from '../../base/account.js';
import { exactDuration } from '../../base/duration.js';
import type { LoginBudgetFacts } from './login-budget.js';
import { stopReason } from './outcome.js';
import type { TokenFacts } from './token-record.js';

/** The state of an account's token, for people. Null where there is none or it is unknown. */
export interface TokenState {
  /** `renewing`: in the last share of its life, still in use. `stopped`: Volley fetches no token until an operator acts. */
  state: 'none' | 'usable' | 'renewing' | 'expired' | 'stopped';
  generation: number;
  /** Such as `90s`. */
  age: string | null;
  /** `0s` once it has expired. Null also for a token without an expiry: a 401 shows that it expired. */
  expiresIn: string | null;
  /** `spent`: presented and not replaced, so the next token requires a login. */
  refreshToken: 'none' | 'ready' | 'spent';
  encrypted: boolean;
  /** A process is fetching the next token right now. */
  fetching: boolean;
  login: {
    attemptsLeft: number;
    /** This user and password have logged in before. */
    proven: boolean;
    /** When the next login may be tried after one without an answer. */
    retryIn: string | null;
  };
  /** Why no token can be fetched, and what to do about it. A token that is still valid remains in use. */
  blockedReason: string | null;
}

/** Combines what Redis knows about the token and about its logins. */
export function tokenState(
  token: TokenFacts,
  login: LoginBudgetFacts,
  account: AccountCredentials,
): TokenState {
  const { status } = login;
  let blockedReason: string | null = null;
  if (status.kind === 'stopped') blockedReason = stopReason(status.code, account, status.detail);
  if (token.stop !== null) blockedReason = stopReason(token.stop, account);
  return {
    state: stateOf(token, blockedReason !== null),
    generation: token.generation,
    age: textOf(token.ageMs),
    expiresIn: textOf(token.expiresInMs),
    refreshToken: token.refreshToken,
    encrypted: token.encrypted,
    fetching: token.isLeased || login.isPending,
    login: {
      attemptsLeft: login.attemptsLeft,
      proven: login.proven,
      retryIn: status.kind === 'later' ? exactDuration(status.ms) : null,
    },
    blockedReason,
  };
}

const textOf = (ms: number | null): string | null => (ms === null ? null : exactDuration(ms));

function stateOf(token: TokenFacts, isBlocked: boolean): TokenState['state'] {
  if (token.stop === 'tokenRefused') return 'stopped';
  const isExpired = token.expiresInMs !== null && token.expiresInMs <= 0;
  if (token.generation > 0 && !isExpired) {
    return token.renewInMs !== null && token.renewInMs <= 0 ? 'renewing' : 'usable';
  }
  if (isBlocked) return 'stopped';
  return token.generation > 0 ? 'expired' : 'none';
}
