import { type Finding, fail, ok, warn } from '../../../../app/doctor/check.js';
import { skewCheck } from '../../../../app/doctor/skew.js';
import type { Clock } from '../../../../base/clock.js';
import { accountOf, type Config, isLoopback, serviceConnection } from '../../../../base/config/index.js';
import { formatDuration } from '../../../../base/duration.js';
import { failureReason } from '../../../../service/client/reason.js';
import { createTransport } from '../../../../service/client/transport.js';

const ANSWERS_WITHIN_MS = 5_000;
/** The Date header has whole seconds, and its way here takes time. */
const MAX_SKEW_MS = 5_000;

/** Whether the addresses answer, and whether their clocks are right. It shows no credentials and uses no quota. */
export async function checkServices(config: Config, clock: Clock): Promise<Finding[]> {
  const hasAccounts = config.lanes.some(({ credentials }) => {
    const account = accountOf(credentials);
    return account !== undefined && account.scope === undefined;
  });
  const addresses: [name: string, setting: string, url: string | undefined][] = [
    ['messaging service', 'MESSAGING_BASE_URL', config.messagingBaseUrl],
    ['account service', 'ACCOUNT_BASE_URL', hasAccounts ? config.accountBaseUrl : undefined],
    ['token service', 'TOKEN_URL', config.tokenUrl],
  ];
  const checks: Finding[] = [];
  for (const [name, setting, url] of addresses)
    if (url !== undefined) checks.push(...(await checkAddress(name, setting, url, config, clock)));
  return checks;
}

async function checkAddress(
  name: string,
  setting: string,
  baseUrl: string,
  config: Config,
  clock: Clock,
): Promise<Finding[]> {
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
    return [
      fail(name, problem, `Check ${setting}, and that this machine can reach the address.`),
      ...insecure,
    ];
  }
  const date = Date.parse(response.headers.date ?? '');
  const skew = Number.isNaN(date)
    ? []
    : [skewCheck(`clock of the ${name}`, date - (began + tookMs / 2), MAX_SKEW_MS)];
  return [ok(name, `${host} answers in ${formatDuration(tookMs)}`), ...insecure, ...skew];
}
