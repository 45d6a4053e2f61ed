/**
 * How a login or a refresh ended. The client of the accounts returns network and service errors as outcomes. The token cache counts anything
 * that is thrown as `noAnswer`.
 */
export type LoginOutcome =
  /** Without a refresh token (''), the next token needs a login. `lifetimeMs`: for a token that does not state its own. */
  | { kind: 'pair'; accessToken: string; refreshToken: string; lifetimeMs?: number }
  /** 10126: user name or password not valid. */
  | { kind: 'badCredential' }
  /** 10126 that mentions a timeout: no evidence against the password. */
  | { kind: 'loginTimeout' }
  /** 10117: this user may not act for the target account. */
  | { kind: 'wrongTarget' }
  /** 11044: blocked after too many failed logins; recovered through a forgot-password reset. */
  | { kind: 'blocked' }
  /** Any other clear refusal. */
  | { kind: 'refused'; reason: string }
  /** Not one byte left, for certain: it was no login attempt, and a refresh token was not presented. */
  | { kind: 'notSent'; reason: string }
  /** Timeout, connection reset, 5xx, or an unreadable response. */
  | { kind: 'noAnswer'; reason: string };
