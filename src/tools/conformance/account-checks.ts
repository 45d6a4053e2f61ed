import { accountOf } from '../../base/config/index.js';
import { formatDuration } from '../../base/duration.js';
import { lifetimeOf } from '../../service/auth/token-record.js';
import { readClientToken, readTokenPair } from '../../service/client/read-response.js';
import { failureReason } from '../../service/client/reason.js';
import { resultOf, type Title } from './judge.js';
import type { ConformanceCheck } from './report.js';
import type { AccountExchange, Run } from './run.js';

/** A check of a response that the token cache has got. */
interface AccountCheck extends Title {
  /** Of the token cache; each token of a client is a login. */
  readonly observed: AccountExchange['operation'];
  /** Why there was no such request, if nothing went wrong. */
  readonly unused: string;
}

const LOGIN: AccountCheck = {
  name: 'POST /api/login',
  operation: 'login',
  documented: '`POST /api/login`, `Content-Type: application/json`, `X-Requested-With: XMLHttpRequest`',
  expected: '200 with AccessToken and RefreshToken, JSON Web Tokens',
  observed: 'login',
  unused: 'there is a token; --login logs in anyway',
};
const REFRESH: AccountCheck = {
  name: 'GET /api/RefreshToken',
  operation: 'refresh',
  documented: '`GET /api/RefreshToken` with the refresh token in `X-Authorization: Bearer …`; a new pair',
  expected: '200 with a new AccessToken and RefreshToken',
  observed: 'refresh',
  unused: 'there was no refresh token',
};
const CLIENT_TOKEN: AccountCheck = {
  name: 'POST to the token address',
  operation: 'token',
  documented: null,
  expected: '200 with access_token, and token_type bearer',
  observed: 'login',
  unused: 'there was no refresh token',
};

/** All checks of the account service. */
export const ACCOUNT_CHECKS: readonly AccountCheck[] = [LOGIN, REFRESH, CLIENT_TOKEN];

/**
 * Checks login and refresh through the token cache of the fleet: it logs in only if there is no token, keeps to the budget of
 * logins, and every process uses the tokens that it gets.
 */
export async function* accountChecks(run: Run): AsyncGenerator<ConformanceCheck> {
  const { session, judge, options, accountExchanges } = run;
  const { tokens } = session;
  const account = accountOf(session.settings.credentials);
  const isClient =
    account === undefined ? run.profile.credentials.kind === 'client' : account.scope !== undefined;
  const checks = isClient ? [CLIENT_TOKEN] : [LOGIN, REFRESH];
  if (tokens === null || account === undefined) {
    const why = `the lane ${session.lane.name} has no ${isClient ? 'client' : 'account'}`;
    for (const check of checks) yield resultOf(check, 'skipped', why);
    return;
  }
  const exchangeOf = (observed: AccountExchange['operation']) =>
    accountExchanges.find(({ operation }) => operation === observed)?.exchange;
  const first = await tokens.get();
  let latest: { readonly kind: string; readonly reason?: string } = first;
  if (latest.kind === 'token' && options.login === true && exchangeOf('login') === undefined)
    latest = await tokens.login({ again: false });
  // A client that has just got a token needs no second one.
  const isDone = isClient && accountExchanges.length > 0;
  if (latest.kind === 'token' && !isDone && options.signal?.aborted !== true)
    latest = await tokens.refreshNow();

  const login = exchangeOf('login');
  const pair = login?.kind === 'reply' ? readTokenPair(login.body ?? '') : null;
  const replaced = [pair?.accessToken, pair?.refreshToken, first.kind === 'token' ? first.token : undefined];
  for (const check of checks) {
    const exchange = exchangeOf(check.observed);
    if (exchange === undefined) {
      yield resultOf(check, 'skipped', latest.reason ?? check.unused);
    } else if (exchange.kind === 'failure') {
      yield resultOf(check, 'failed', `no response: ${failureReason(exchange)}`);
    } else {
      const also = () => (check === REFRESH ? renewalProblem(exchange.body ?? '', replaced) : null);
      yield judge(check, exchange, [account.username, account.password], also);
    }
  }
  noteLifetimes(run);
}

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
function noteLifetimes({ ways, accountExchanges }: Run): void {
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
  if (pair === undefined || pair === null) return;
  const [access, refresh] = [lifetimeOf(pair.accessToken), lifetimeOf(pair.refreshToken)].map((life) =>
    life === undefined ? 'is not shown (no exp and iat)' : `lasts ${formatDuration(life.expiresAfterMs)}`,
  );
  ways.note(
    'tokens',
    `the access token ${access}, the refresh token ${refresh}`,
    'Nothing to set: Volley reads the times from the tokens; without them, it renews after a 401.',
  );
}
