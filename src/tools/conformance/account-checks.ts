import { accountOf } from '../../base/config/index.js';
import { formatDuration } from '../../base/duration.js';
import { lifetimeOf } from '../../service/auth/token-record.js';
import { readClientToken, readTokenPair } from '../../service/client/read-response.js';
import { failureReason } from '../../service/client/reason.js';
import type { Check, Rows } from './check.js';
import type { AccountExchange, Run } from './run.js';

/** What the token cache of the fleet did for the test, and what came of it. */
interface Account {
  /** A client gets tokens; any other account logs in and refreshes. */
  readonly isClient: boolean;
  /** Why nothing was requested. */
  readonly why: string | undefined;
  readonly secrets: readonly string[];
  /** Tokens that a refresh was to replace. */
  readonly replaced: readonly (string | undefined)[];
}

/**
 * Logs in and refreshes through the token cache of the fleet: it logs in only if there is no token, keeps to the budget of logins, and
 * every process uses the tokens that it gets.
 */
export async function accountOfRun({ session, profile, options, accountExchanges }: Run): Promise<Account> {
  const { tokens } = session;
  const account = accountOf(session.settings.credentials);
  const isClient =
    account === undefined ? profile.credentials.kind === 'client' : account.scope !== undefined;
  if (tokens === null || account === undefined) {
    const why = `the lane ${session.lane.name} has no ${isClient ? 'client' : 'account'}`;
    return { isClient, why, secrets: [], replaced: [] };
  }
  const loginOf = () => accountExchanges.find(({ operation }) => operation === 'login')?.exchange;
  const first = await tokens.get();
  let latest: { readonly kind: string; readonly reason?: string } = first;
  if (latest.kind === 'token' && options.login === true && loginOf() === undefined)
    latest = await tokens.login({ again: false });
  // A client that has just got a token needs no second one.
  const isDone = isClient && accountExchanges.length > 0;
  if (latest.kind === 'token' && !isDone && options.signal?.aborted !== true)
    latest = await tokens.refreshNow();
  const login = loginOf();
  const pair = login?.kind === 'reply' ? readTokenPair(login.body ?? '') : null;
  return {
    isClient,
    why: latest.reason,
    secrets: [account.username, account.password],
    replaced: [pair?.accessToken, pair?.refreshToken, first.kind === 'token' ? first.token : undefined],
  };
}

/** What the token cache has got. `operation`: each token of a client is a login. `unused`: why there was nothing, if nothing went wrong. */
function observed(
  operation: AccountExchange['operation'],
  unused: string,
  { why, secrets }: Account,
  { accountExchanges }: Run,
): ReturnType<Check<Account>['sends']> {
  const exchange = accountExchanges.find((each) => each.operation === operation)?.exchange;
  if (exchange === undefined) return { result: 'skipped', found: why ?? unused };
  return exchange.kind === 'failure'
    ? { kind: 'failed', reason: `no response: ${failureReason(exchange)}` }
    : { kind: 'reply', reply: exchange, secrets };
}

/** All checks of the account service. */
export const ACCOUNT_CHECKS: Rows<Account> = [
  {
    name: 'POST /api/login',
    operation: 'login',
    documented: '`POST /api/login`, `Content-Type: application/json`, `X-Requested-With: XMLHttpRequest`',
    expected: '200 with AccessToken and RefreshToken, JSON Web Tokens',
    sends: (account, run) =>
      account.isClient
        ? undefined
        : observed('login', 'there is a token; --login logs in anyway', account, run),
  },
  {
    name: 'GET /api/RefreshToken',
    operation: 'refresh',
    documented: '`GET /api/RefreshToken` with the refresh token in `X-Authorization: Bearer …`; a new pair',
    expected: '200 with a new AccessToken and RefreshToken',
    sends: (account, run) =>
      account.isClient ? undefined : observed('refresh', 'there was no refresh token', account, run),
    also: ({ body }, { replaced }) => renewalProblem(body ?? '', replaced),
  },
  {
    name: 'POST to the token address',
    operation: 'token',
    documented: null,
    expected: '200 with access_token, and token_type bearer',
    sends: (account, run) =>
      account.isClient ? observed('login', 'there was no refresh token', account, run) : undefined,
  },
  { sends: (_account, run) => noteLifetimes(run) },
];

/** Whether a refresh has returned a token that it was to replace. */
function renewalProblem(body: string, replaced: readonly (string | undefined)[]): string | null {
  const { accessToken, refreshToken } = readTokenPair(body) ?? {};
  const same = [
    ...(accessToken !== undefined && replaced.includes(accessToken) ? ['AccessToken'] : []),
    ...(refreshToken !== undefined && replaced.includes(refreshToken) ? ['RefreshToken'] : []),
  ];
  return same.length === 0 ? null : `${same.join(' and ')} of the refresh: the same as before`;
}

/** How long the tokens of the responses last. */
function noteLifetimes({ ways, accountExchanges }: Run): undefined {
  const bodies = accountExchanges.flatMap(({ exchange }) =>
    exchange.kind === 'reply' ? (exchange.body ?? []) : [],
  );
  const client = bodies.map(readClientToken).find((each) => each !== null);
  if (client !== undefined && client !== null) {
    const { expires_in: seconds } = client;
    const found =
      seconds === undefined ? 'it is not shown' : `the access token lasts ${formatDuration(seconds * 1_000)}`;
    ways.note('tokens', found, 'Nothing to set: without a time, Volley renews after a 401.');
  }
  const pair = bodies.map(readTokenPair).find((each) => each !== null);
  if (pair === undefined || pair === null) return undefined;
  const [access, refresh] = [lifetimeOf(pair.accessToken), lifetimeOf(pair.refreshToken)].map((life) =>
    life === undefined ? 'is not shown (no exp and iat)' : `lasts ${formatDuration(life.expiresAfterMs)}`,
  );
  ways.note(
    'tokens',
    `the access token ${access}, the refresh token ${refresh}`,
    'Nothing to set: Volley reads the times from the tokens; without them, it renews after a 401.',
  );
  return undefined;
}
