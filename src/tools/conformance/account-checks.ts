import { accountOf } from '../../base/config/index.js';
import { formatDuration } from '../../base/duration.js';
import { lifetimeOf } from '../../service/auth/token-record.js';
import type { AccountObserver } from '../../service/client/accounts.js';
import type { Exchange } from '../../service/client/exchange.js';
import { readClientToken, readTokenPair } from '../../service/client/read-response.js';
import { failureReason } from '../../service/client/reason.js';
import type { ConformanceCheck } from './report.js';
import type { Run } from './run.js';

type AccountOperation = Parameters<AccountObserver>[0];

/** The responses of the account service during a test. */
export interface AccountRecorder {
  readonly observe: AccountObserver;
  /** The responses since the last call. */
  take(): { readonly operation: AccountOperation; readonly exchange: Exchange }[];
}

/** Opens it. */
export function openAccountRecorder(): AccountRecorder {
  const observed: { operation: AccountOperation; exchange: Exchange }[] = [];
  return {
    observe: (operation, exchange) => void observed.push({ operation, exchange }),
    take: () => observed.splice(0),
  };
}

const EXPECTATION = {
  login: {
    name: 'POST /api/login',
    operation: 'login',
    expected: '200 with AccessToken and RefreshToken, JSON Web Tokens',
    statuses: [200],
  },
  refresh: {
    name: 'GET /api/RefreshToken',
    operation: 'refresh',
    expected: '200 with a new AccessToken and RefreshToken',
    statuses: [200],
  },
  token: {
    name: 'POST to the token address',
    operation: 'token',
    expected: '200 with access_token, and token_type bearer',
    statuses: [200],
  },
} as const;

/**
 * Checks login and refresh through the token cache of the fleet: it logs in only if there is no token, keeps to the budget of
 * logins, and every process uses the tokens that it gets.
 */
export async function* accountChecks(run: Run, recorder: AccountRecorder): AsyncGenerator<ConformanceCheck> {
  const { session, checker, options } = run;
  const { tokens } = session;
  const account = accountOf(session.settings.credentials);
  const isClient =
    account === undefined ? run.profile.credentials.kind === 'client' : account.scope !== undefined;
  const operations = isClient ? (['token'] as const) : (['login', 'refresh'] as const);
  if (tokens === null || account === undefined) {
    for (const each of operations.map((operation) => EXPECTATION[operation]))
      yield checker.skip(each, `the lane ${session.lane.name} has no ${isClient ? 'client' : 'account'}`);
    return;
  }
  const first = await tokens.get();
  let taken = recorder.take();
  let isStopped = first.kind !== 'token';
  let why = first.kind === 'token' ? '' : first.reason;
  if (!isStopped && options.login === true && !taken.some(({ operation }) => operation === 'login')) {
    const outcome = await tokens.login({ again: false });
    taken = [...taken, ...recorder.take()];
    if (outcome.kind !== 'token') [isStopped, why] = [true, outcome.reason];
  }
  // A client that has just got a token needs no second one.
  const isDone = isClient && taken.length > 0;
  if (!isStopped && !isDone && options.signal?.aborted !== true) {
    const outcome = await tokens.refreshNow();
    taken = [...taken, ...recorder.take()];
    if (outcome.kind !== 'token') why = outcome.reason;
  }
  const loggedIn = pairIn(taken.find(({ operation }) => operation === 'login')?.exchange);
  const replaced = [
    loggedIn?.accessToken,
    loggedIn?.refreshToken,
    first.kind === 'token' ? first.token : undefined,
  ];
  const secrets = [account.username, account.password];
  for (const operation of operations) {
    const expectation = EXPECTATION[operation];
    // A client has no refresh token: each of its tokens is a login.
    const requested = operation === 'token' ? 'login' : operation;
    const exchange = taken.find((each) => each.operation === requested)?.exchange;
    if (exchange === undefined) {
      const unused =
        operation === 'login' ? 'there is a token; --login logs in anyway' : 'there was no refresh token';
      yield checker.skip(expectation, why === '' ? unused : why);
    } else if (exchange.kind === 'failure') {
      const check = checker.skip(expectation, `no response: ${failureReason(exchange)}`);
      yield { ...check, result: 'failed' };
    } else {
      const also = ({ body }: { readonly body: string | null }) =>
        operation === 'refresh' ? renewalProblem(body ?? '', replaced) : null;
      yield checker.judge(exchange, { ...expectation, also }, secrets);
    }
  }
  noteLifetimes(run, taken);
}

function pairIn(exchange: Exchange | undefined): ReturnType<typeof readTokenPair> {
  return exchange?.kind === 'reply' ? readTokenPair(exchange.body ?? '') : null;
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

/** How long the tokens of these responses last. */
function noteLifetimes({ ways }: Run, taken: ReturnType<AccountRecorder['take']>): void {
  const bodies = taken.flatMap(({ exchange }) => (exchange.kind === 'reply' ? (exchange.body ?? []) : []));
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
