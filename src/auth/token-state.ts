import type { LoginLook } from './login-budget.js';
import type { Account } from './outcome.js';
import { stopReason } from './reasons.js';
import type { TokenLook } from './token-record.js';

/** How an account's token stands, for people. Durations in ms from now; null where there is none or nobody knows. */
export interface TokenState {
  /** `renewing`: in its last share of life, still used. `stopped`: nothing is tried until an operator acts. */
  state: 'none' | 'usable' | 'renewing' | 'expired' | 'stopped';
  generation: number;
  ageMs: number | null;
  /** Null also for a token that does not say how long it lasts: a 401 will tell. */
  expiresInMs: number | null;
  /** `spent`: presented, and not replaced; the next token takes a login. */
  refreshToken: 'none' | 'ready' | 'spent';
  encrypted: boolean;
  /** A process is fetching the next token right now. */
  underWay: boolean;
  login: {
    attemptsLeft: number;
    /** This user and password have logged in before. */
    proven: boolean;
    /** When the next login may be tried after one without an answer. */
    retryInMs: number | null;
  };
  /** Why no token can be fetched, and what to do about it. A token in hand is used up all the same. */
  blockedReason: string | null;
}

/** Puts what Redis knows of the token and of its logins into {@link TokenState}. */
export function describeToken(token: TokenLook, login: LoginLook, account: Account): TokenState {
  const { standing } = login;
  const blockedReason =
    token.stop !== undefined
      ? stopReason(token.stop, account)
      : standing.kind === 'stopped'
        ? stopReason(standing.code, account, standing.detail)
        : null;
  return {
    state: stateOf(token, blockedReason !== null),
    generation: token.generation,
    ageMs: token.ageMs ?? null,
    expiresInMs: token.expiresInMs ?? null,
    refreshToken: token.refreshToken,
    encrypted: token.encrypted,
    underWay: token.underWay || login.underWay,
    login: {
      attemptsLeft: login.attemptsLeft,
      proven: login.proven,
      retryInMs: standing.kind === 'later' ? standing.ms : null,
    },
    blockedReason,
  };
}

function stateOf(token: TokenLook, blocked: boolean): TokenState['state'] {
  if (token.stop === 'tokenRefused') return 'stopped';
  const expired = token.expiresInMs !== undefined && token.expiresInMs <= 0;
  if (token.generation > 0 && !expired) {
    return token.renewInMs !== undefined && token.renewInMs <= 0 ? 'renewing' : 'usable';
  }
  if (blocked) return 'stopped';
  return token.generation > 0 ? 'expired' : 'none';
}
