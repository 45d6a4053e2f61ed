import { lifetimeOf } from '../auth/token-record.js';
import { accountOf } from '../config/index.js';
import { formatDuration } from '../duration.js';
import type { AccountObserver } from '../gateway/accounts.js';
import type { Exchange } from '../gateway/exchange.js';
import { readTokenPair } from '../gateway/read-response.js';
import { failureReason } from '../gateway/reason.js';
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
} as const;

/**
 * Checks login and refresh through the token cache of the fleet: it logs in only if there is no token, keeps to the budget of
 * logins, and every process uses the tokens that it gets.
 */
export async function* accountChecks(run: Run, recorder: AccountRecorder): AsyncGenerator<ConformanceCheck> {
  const { session, checker, options, ways } = run;
  const { tokens } = session;
  const account = accountOf(session.settings.credentials);
  if (tokens === null || account === undefined) {
    for (const each of Object.values(EXPECTATION))
      yield checker.skip(each, `the lane ${session.lane.name} has no account`);
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
  if (!isStopped && options.signal?.aborted !== true) {
    const outcome = await tokens.refreshNow();
    taken = [...taken, ...recorder.take()];
    if (outcome.kind !== 'token') why = outcome.reason;
  }
  const secrets = [account.username, account.password];
  for (const operation of ['login', 'refresh'] as const) {
    const expectation = EXPECTATION[operation];
    const exchange = taken.find((each) => each.operation === operation)?.exchange;
    if (exchange === undefined) {
      const unused =
        operation === 'login'
          ? 'there is a token; --login logs in all the same'
          : 'there was no refresh token';
      yield checker.skip(expectation, why === '' ? unused : why);
    } else if (exchange.kind === 'failure') {
      const check = checker.skip(expectation, `no response: ${failureReason(exchange)}`);
      yield { ...check, result: 'failed' };
    } else yield checker.judge(exchange, expectation, secrets);
  }
  const pair = taken
    .map(({ exchange }) =>
      exchange.kind === 'reply' && exchange.body !== null ? readTokenPair(exchange.body) : null,
    )
    .find((each) => each !== null);
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
