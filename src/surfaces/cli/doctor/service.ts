import type { Volley } from '../../../app/volley.js';
import type { Clock } from '../../../base/clock.js';
import { accountOf, type Config, isLoopback, serviceConnection } from '../../../base/config/index.js';
import { formatDuration } from '../../../base/duration.js';
import { failureReason } from '../../../service/client/reason.js';
import { createTransport } from '../../../service/client/transport.js';
import { type Check, fail, ok, warn } from './check.js';
import { skewCheck } from './redis.js';

const ANSWERS_WITHIN_MS = 5_000;
/** The Date header has whole seconds, and its way here takes time. */
const MAX_SKEW_MS = 5_000;

/** Whether both addresses answer, and whether their clocks are right. It shows no credentials and uses no quota. */
export async function checkServices(config: Config, clock: Clock): Promise<Check[]> {
  const hasAccounts = config.lanes.some(({ credentials }) => {
    const account = accountOf(credentials);
    return account !== undefined && account.scope === undefined;
  });
  return [
    ...(await checkAddress('messaging service', 'MESSAGING_BASE_URL', config.messagingBaseUrl, {
      config,
      clock,
    })),
    ...(hasAccounts
      ? await checkAddress('account service', 'ACCOUNT_BASE_URL', config.accountBaseUrl, { config, clock })
      : []),
    ...(config.tokenUrl === undefined
      ? []
      : await checkAddress('token service', 'TOKEN_URL', config.tokenUrl, { config, clock })),
  ];
}

async function checkAddress(
  name: string,
  setting: string,
  baseUrl: string,
  { config, clock }: { config: Config; clock: Clock },
): Promise<Check[]> {
  const { origin, protocol, host } = new URL(baseUrl);
  const insecure =
    protocol === 'http:' && !isLoopback(baseUrl)
      ? [
          warn(
            `${name}, encryption`,
            'plain http: others on the network can read keys, passwords, and numbers',
            `Use an https address for ${setting}.`,
          ),
        ]
      : [];
  const transport = createTransport({ ...serviceConnection(config, origin), timeoutMs: ANSWERS_WITHIN_MS });
  const began = clock();
  // Any response from the root shows that the address is right, and it does not count towards the quota.
  const response = await transport.exchange({ method: 'GET', path: '/', headers: {} });
  const tookMs = clock() - began;
  transport.close();
  if (response.kind === 'failure') {
    const problem = `${host} does not answer: ${failureReason(response)}`;
    return [fail(name, problem, `Check ${setting}, and that this machine can reach it.`), ...insecure];
  }
  const date = Date.parse(response.headers.date ?? '');
  const skew = Number.isNaN(date)
    ? []
    : [skewCheck(`clock of the ${name}`, date - (began + tookMs / 2), MAX_SKEW_MS)];
  return [ok(name, `${host} answers in ${formatDuration(tookMs)}`), ...insecure, ...skew];
}

/** What each lane sends with. It does not log in: a wrong password would use up one of few attempts. */
export async function checkCredentials(config: Config, volley: Volley | undefined): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { name, credentials } of config.lanes) {
    const title = `credentials of lane ${name}`;
    const account = accountOf(credentials);
    if (credentials.kind === 'apiKey')
      checks.push(ok(title, 'an API key is set; the first request shows whether the service accepts it'));
    if (account === undefined) continue;
    const state = await volley?.token(name)?.show();
    if (state === undefined)
      checks.push(
        ok(
          title,
          `the ${account.scope === undefined ? 'account' : 'client'} ${JSON.stringify(account.username)}`,
        ),
      );
    else if (state.blockedReason !== null)
      checks.push(fail(title, `token ${state.state}`, state.blockedReason));
    else if (state.state === 'none' && !state.login.proven) {
      checks.push(
        warn(title, 'the account has not logged in yet', `To try it: volley token login --lane ${name}`),
      );
    } else checks.push(ok(title, `token ${state.state}`));
    if (config.secretsKey === undefined) {
      checks.push(
        warn(
          `tokens of lane ${name}`,
          'stored unencrypted: anyone who can read Redis can send with your account',
          'Set SECRETS_KEY to the same value for every process. To create one: openssl rand -base64 32',
        ),
      );
    }
  }
  return checks;
}
