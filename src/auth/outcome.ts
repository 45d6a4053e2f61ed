/** Who logs in. `targetAccountId` is a child account that a reseller acts for (interface page, Login request). */
export interface Account {
  username: string;
  password: string;
  targetAccountId?: string | undefined;
}

/**
 * How a login or a refresh ended, as far as the cache must tell the endings apart. The functions it is handed never
 * throw for what the network or the service does; one that throws all the same counts as `noAnswer`.
 */
export type LoginOutcome =
  | { kind: 'pair'; accessToken: string; refreshToken: string }
  /** 10126: user name or password not valid. */
  | { kind: 'badCredential' }
  /** 10126 that speaks of a timeout: it says nothing about the password. */
  | { kind: 'loginTimeout' }
  /** 10117: the target account is not one this user may act for. */
  | { kind: 'wrongTarget' }
  /** 11044: blocked after too many failed logins. */
  | { kind: 'blocked' }
  /** Any other clear no. */
  | { kind: 'refused'; reason: string }
  /** Timeout, reset, 5xx, unreadable. */
  | { kind: 'noAnswer'; reason: string };

/** What a caller who wants to send gets. */
export type TokenOutcome =
  /** Usable now. `generation` names this pair; hand it back to `refused` if the service answers 401 to the token. */
  | { kind: 'token'; token: string; generation: number }
  /** None to be had before `at` (ms since the epoch, this machine's clock). */
  | { kind: 'later'; at: number; reason: string }
  /** None to be had until an operator acts; `reason` says what to do. */
  | { kind: 'stopped'; reason: string };
