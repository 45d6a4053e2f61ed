/** An account to log in to, or with `scope` an OAuth 2 client. */
export interface AccountCredentials {
  /** Of a client, its id. */
  username: string;
  /** Of a client, its secret. */
  password: string;
  /** The scopes of a client's tokens, separated by spaces. */
  scope?: string | undefined;
  /** Child organisation that a reseller acts for (interface page, Login request). */
  targetAccountId?: string | undefined;
}
