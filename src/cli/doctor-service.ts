import type { LaneStatus } from '../campaign/views.js';
import type { Clock } from '../clock.js';
import { type Config, isLoopback } from '../config/index.js';
import { formatDuration } from '../duration.js';
import type { SubscriptionStatus } from '../notifications/subscription-status.js';
import type { Volley } from '../volley.js';
import { type Check, fail, ok, warn } from './doctor-check.js';
import { skewCheck } from './doctor-redis.js';

const ANSWERS_WITHIN_MS = 5_000;
/** The Date header has whole seconds, and takes its time to come. */
const MOST_SKEW_MS = 5_000;

/** Whether something answers at both addresses, and what its clock says. No credential is shown and no quota used. */
export async function checkServices(config: Config, clock: Clock): Promise<Check[]> {
  const hasAccounts = config.lanes.some(({ credentials }) => credentials.kind === 'account');
  const checks = [
    ...(await checkAddress('messaging service', 'MESSAGING_BASE_URL', config.messagingBaseUrl, clock)),
    ...(hasAccounts
      ? await checkAddress('account service', 'ACCOUNT_BASE_URL', config.accountBaseUrl, clock)
      : []),
  ];
  return checks;
}

async function checkAddress(name: string, setting: string, baseUrl: string, clock: Clock): Promise<Check[]> {
  const { origin, protocol, host } = new URL(baseUrl);
  const insecure =
    protocol === 'http:' && !isLoopback(baseUrl)
      ? [
          warn(
            `${name}, encryption`,
            'plain http: keys, passwords and numbers can be read on the way',
            `Make ${setting} an https address.`,
          ),
        ]
      : [];
  try {
    const began = clock();
    // The root alone: an answer of any kind shows that the address is right, and none of it counts as a request.
    const response = await fetch(origin, {
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    });
    await response.body?.cancel();
    const tookMs = clock() - began;
    const date = Date.parse(response.headers.get('date') ?? '');
    const skew = Number.isNaN(date)
      ? []
      : [skewCheck(`clock of the ${name}`, date - (began + tookMs / 2), MOST_SKEW_MS)];
    return [ok(name, `${host} answers in ${tookMs} ms`), ...insecure, ...skew];
  } catch (error) {
    return [
      fail(
        name,
        `${host} does not answer: ${reasonOf(error)}`,
        `Check ${setting}, and that this machine may go there.`,
      ),
      ...insecure,
    ];
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `nothing in ${ANSWERS_WITHIN_MS / 1_000} s`;
  const { cause } = error;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.message;
}

/** A request on its way, or a phone that is off, is no sign of anything yet. */
const SILENT_MS = 30 * 60_000;
/** A new subscription hears nothing of requests that were sent before it; the first after it need their time. */
const FIRST_WITHIN_MS = 5 * 60_000;
/** Subscriptions that workers look at every five minutes are believed for so long. */
const LOOKED_WITHIN_MS = 15 * 60_000;

/** How each lane is subscribed to notifications, as workers found it. The service is not asked. */
export async function checkSubscriptions(
  { callback }: Config,
  volley: Volley,
  lanes: readonly LaneStatus[],
): Promise<Check[]> {
  const title = 'notifications';
  const standings = await Promise.all(
    lanes.map(async (lane) => ({ lane, standing: await volley.notifications.subscriptionStatus(lane.name) })),
  );
  if (callback === undefined) {
    const subscribed = standings.filter(({ standing }) => isKept(standing)).map(({ lane }) => lane.name);
    return [judgeOff(subscribed)];
  }
  const checks = standings.map(({ lane, standing }) => judgeSubscription(lane.name, standing, lane));
  if (callback.proof === 'token') return checks;
  return [
    ...checks,
    warn(
      title,
      'the secret address is their only proof: who reads it in the log of a proxy can forge them',
      'Leave CALLBACK_PROOF out if the service’s notifications carry the security token.',
    ),
  ];
}

function isKept({ state, checkedAt, now }: SubscriptionStatus): boolean {
  return state === 'ours' && now - checkedAt <= LOOKED_WITHIN_MS;
}

const LEADS_TO_API =
  'See that CALLBACK_URL leads to the HTTP API (volley serve, or volley up) from where the service is.';

/** What it is worth that notifications are off where the doctor looks. `subscribed`: lanes that workers keep subscribed. */
export function judgeOff(subscribed: readonly string[]): Check {
  const title = 'notifications';
  if (subscribed.length === 0) {
    return ok(title, 'off: delivery is only asked after; CALLBACK_URL turns them on');
  }
  return warn(
    title,
    `CALLBACK_URL is not set here, but workers have subscribed ${subscribed.length === 1 ? 'lane' : 'lanes'} ${subscribed.join(', ')}`,
    'Give every process the same settings: a worker without CALLBACK_URL lets go of what the others keep for notifications.',
  );
}

/** What a lane’s subscription is worth. A lane of which every report is in has nothing to hear. */
export function judgeSubscription(
  lane: string,
  standing: SubscriptionStatus,
  { quota, awaitingReports }: Pick<LaneStatus, 'quota' | 'awaitingReports'>,
): Check {
  const { state, detail, checkedAt, oursSince, heardAt, now } = standing;
  const title = `notifications of lane ${lane}`;
  if (checkedAt === 0) return warn(title, 'not subscribed yet', 'Workers do it: volley up, or volley work.');
  const ago = formatDuration(now - checkedAt);
  switch (state) {
    case 'ours':
      if (!isKept(standing)) {
        return warn(
          title,
          `subscribed when last looked at, ${ago} ago`,
          'Workers look: volley up, or volley work.',
        );
      }
      if (heardAt === 0 && quota.used.send > 0 && now - oursSince > FIRST_WITHIN_MS) {
        return warn(
          title,
          `subscribed${oursSince === 0 ? '' : ` ${formatDuration(now - oursSince)} ago`}, but none has come yet, though requests were sent`,
          LEADS_TO_API,
        );
      }
      if (heardAt !== 0 && awaitingReports > 0 && now - heardAt > SILENT_MS) {
        return warn(
          title,
          `subscribed, but none has come for ${formatDuration(now - heardAt)}, though reports are awaited`,
          LEADS_TO_API,
        );
      }
      return ok(
        title,
        `subscribed when last looked at, ${ago} ago; ${heardAt === 0 ? 'none has come yet' : `the last came ${formatDuration(now - heardAt)} ago`}`,
      );
    case 'foreign':
      return fail(
        title,
        `somebody else’s subscription is there, to ${detail}`,
        `If it is to be replaced: volley subscription create --lane ${lane} --force`,
      );
    case 'refused':
    case 'unanswered':
      return fail(
        title,
        `not subscribed, ${ago} ago: ${detail}`,
        `Try it: volley subscription create --lane ${lane}`,
      );
    case '':
      return warn(title, 'not subscribed yet', 'Workers do it: volley up, or volley work.');
    default:
      return state satisfies never;
  }
}

/** What each lane sends with, without trying it: a wrong password costs one of few attempts. */
export async function checkCredentials(config: Config, volley: Volley | undefined): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { name, credentials } of config.lanes) {
    const title = `credentials of lane ${name}`;
    if (credentials.kind === 'apiKey') {
      checks.push(ok(title, 'an API key is set; its first request shows whether the service takes it'));
      continue;
    }
    const state = await volley?.token(name)?.show();
    if (state === undefined) checks.push(ok(title, `the account ${JSON.stringify(credentials.username)}`));
    else if (state.blockedReason !== null)
      checks.push(fail(title, `token ${state.state}`, state.blockedReason));
    else if (state.state === 'none' && !state.login.proven) {
      checks.push(
        warn(title, 'the account has not logged in yet', `Try it with: volley token login --lane ${name}`),
      );
    } else checks.push(ok(title, `token ${state.state}`));
    if (config.secretsKey === undefined) {
      checks.push(
        warn(
          `tokens of lane ${name}`,
          'stored in the clear: who can read Redis can send in your name',
          'Set SECRETS_KEY, the same for every process: openssl rand -base64 32',
        ),
      );
    }
  }
  return checks;
}
