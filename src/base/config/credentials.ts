import { z } from 'zod';
import type { AccountCredentials } from '../account.js';
import { oneOf } from './formats.js';

/** What the `Authorization` header of a lane's requests carries. */
export const authorization = oneOf('apiKey', 'accessToken');

/** What their `X-Authorization` header carries. */
export const xAuthorization = oneOf('none', 'accessToken');

const text = z.string('must be a string').min(1, 'must not be empty');

/** An account of a lanes file. Each part is either a value or the name of a variable. */
export const ACCOUNT = z.strictObject(
  {
    username: text.optional(),
    usernameEnv: text.optional(),
    password: text.optional(),
    passwordEnv: text.optional(),
    targetAccountId: text.optional(),
  },
  'must be an object with username or usernameEnv, and password or passwordEnv',
);

/** An OAuth 2 client of a lanes file. Each part is either a value or the name of a variable. */
export const CLIENT = z.strictObject(
  {
    id: text.optional(),
    idEnv: text.optional(),
    secret: text.optional(),
    secretEnv: text.optional(),
    /** The product that its messages belong to, one of the scopes of its tokens (RFC 6749, section 3.3). */
    product: z
      .string('must be the name of one product, such as "sms-a2p-marketing"')
      .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be the name of one product, such as "sms-a2p-marketing"'),
  },
  'must be an object with id or idEnv, secret or secretEnv, and product',
);

/** Where the credentials of a lane come from, and which header carries which. At least one must be set. */
export const CREDENTIAL_SOURCES = z.object({
  apiKey: text.regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces').optional(),
  apiKeyEnv: text.optional(),
  account: ACCOUNT.optional(),
  client: CLIENT.optional(),
  authorization: authorization.optional(),
  xAuthorization: xAuthorization.optional(),
});

/**
 * How a lane authenticates with the service; `kind` says what its `Authorization` header carries, and thereby whose quota it
 * uses. How key and token relate is not shown (interface page, Authentication 4), so two settings decide.
 */
export type Credentials =
  | ({ kind: 'apiKey'; apiKey: string } & (
      | { xAuthorization?: 'none'; account?: AccountCredentials }
      | { xAuthorization: 'accessToken'; account: AccountCredentials }
    ))
  | ({ kind: 'account'; xAuthorization?: 'none' | 'accessToken' } & AccountCredentials);

/** The account that the lane logs in to; undefined for a lane with only an API key. */
export function accountOf(credentials: Credentials): AccountCredentials | undefined {
  return credentials.kind === 'account' ? credentials : credentials.account;
}

/** What a lane was given. At least one of key and account is set. */
interface Given {
  readonly apiKey: string | undefined;
  readonly account: AccountCredentials | undefined;
  readonly authorization: 'apiKey' | 'accessToken' | undefined;
  readonly xAuthorization: 'none' | 'accessToken' | undefined;
}

/** What the fields are called where they were given. */
type FieldNames = Readonly<Record<keyof Given, string>>;

/** The credentials of a lane, or one sentence about what is wrong with them. */
export function combineCredentials(given: Given, names: FieldNames): Credentials | { problem: string } {
  const { apiKey, account } = given;
  const choose = `${names.authorization} ("apiKey" or "accessToken") and ${names.xAuthorization} ("none" or "accessToken")`;
  if (apiKey !== undefined && account !== undefined) {
    const { authorization, xAuthorization } = given;
    if (authorization === undefined || xAuthorization === undefined)
      return {
        problem: `${names.apiKey} and ${names.account} are both set: say what each header carries, with ${choose}, or unset one of them`,
      };
    if (authorization === 'accessToken')
      return {
        problem: `${names.authorization} is "accessToken", so ${names.apiKey} is never sent: unset it, or set ${names.authorization} to "apiKey"`,
      };
    return { kind: 'apiKey', apiKey, account, xAuthorization };
  }
  if (apiKey !== undefined) {
    const needing = given.authorization === 'accessToken' ? names.authorization : names.xAuthorization;
    if (given.authorization === 'accessToken' || given.xAuthorization === 'accessToken')
      return { problem: `${needing} is "accessToken", but there is no account: set ${names.account}` };
    return { kind: 'apiKey', apiKey };
  }
  if (account === undefined) throw new TypeError('a lane needs an API key or an account');
  if (given.authorization === 'apiKey')
    return { problem: `${names.authorization} is "apiKey", but there is no key: set ${names.apiKey}` };
  const { xAuthorization } = given;
  return { kind: 'account', ...account, ...(xAuthorization === undefined ? {} : { xAuthorization }) };
}
