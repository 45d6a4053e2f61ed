import type { Config } from '../../base/config/index.js';
import { formatDuration } from '../../base/duration.js';
import { PROFILES } from '../../base/profiles/index.js';
import type { LaneStatus } from '../../campaign/views/views.js';
import type { SubscriptionStatus } from '../../engine/notifications/subscription-status.js';
import type { Volley } from '../volley.js';
import { type Finding, fail, ok, warn } from './check.js';

const TITLE = 'notifications';
/** Requests in flight, or phones that are off, may explain a shorter silence. */
const SILENT_MS = 30 * 60_000;
/** A new subscription gets no notifications of earlier requests, and those of later ones take a while. */
const FIRST_WITHIN_MS = 5 * 60_000;
/** Workers check a subscription every five minutes; their result counts for this long. */
const CHECKED_WITHIN_MS = 15 * 60_000;

/** Each lane's subscriptions to notifications, and to messages of people, as workers last found them. It sends no request to the service. */
export async function checkSubscriptions(
  { callback, lanes: settings }: Config,
  volley: Volley,
  lanes: readonly LaneStatus[],
): Promise<Finding[]> {
  const states = await Promise.all(
    lanes.map(async (lane) => ({ lane, state: await volley.notifications.subscriptionStatus(lane.name) })),
  );
  if (callback === undefined)
    return [checkOff(states.filter(({ state }) => isKept(state)).map(({ lane }) => lane.name))];
  const withInbound = settings.filter(({ profile }) => PROFILES[profile].hasInbound);
  const checks = [
    ...states.map(({ lane, state }) => checkSubscription(lane.name, state, lane)),
    ...(await Promise.all(
      withInbound.map(async ({ name }) =>
        checkSubscription(name, await volley.notifications.subscriptionStatus(name, 'inbound')),
      ),
    )),
  ];
  if (callback.proof === 'token') return checks;
  return [
    ...checks,
    warn(
      TITLE,
      'the secret address is their only proof: anyone who reads it in a proxy’s log can forge notifications',
      'Remove CALLBACK_PROOF if the service sends the security token with its notifications.',
    ),
  ];
}

function isKept({ state, checkedAt, now }: SubscriptionStatus): boolean {
  return state === 'ours' && checkedAt !== null && sinceMs(checkedAt, now) <= CHECKED_WITHIN_MS;
}

const sinceMs = (time: string, now: string): number => Date.parse(now) - Date.parse(time);

const CHECK_URL =
  'Check that the service can reach the HTTP API (volley serve, or volley up) at CALLBACK_URL.';

/** Notifications are off in this process. `subscribed`: lanes that workers keep subscribed nevertheless. */
export function checkOff(subscribed: readonly string[]): Finding {
  if (subscribed.length === 0) {
    return ok(TITLE, 'off: workers ask for delivery statuses; CALLBACK_URL turns notifications on');
  }
  return warn(
    TITLE,
    `CALLBACK_URL is not set here, but workers have subscribed ${subscribed.length === 1 ? 'lane' : 'lanes'} ${subscribed.join(', ')}`,
    'Use the same settings for every process: a worker without CALLBACK_URL discards what the others store for notifications.',
  );
}

/**
 * Whether a lane’s subscription works. A lane that awaits no reports expects no notifications. Without `expected`, it is the subscription to
 * messages of people, of which no number can be expected.
 */
export function checkSubscription(
  lane: string,
  subscription: SubscriptionStatus,
  expected?: Pick<LaneStatus, 'quota' | 'awaitingReports'>,
): Finding {
  const { state, detail, checkedAt, oursSince, heardAt, now } = subscription;
  const title = `${expected === undefined ? 'replies' : 'notifications'} of lane ${lane}`;
  const notYet = warn(
    title,
    'not subscribed yet',
    'A running worker subscribes it. The line about workers says whether one runs.',
  );
  if (checkedAt === null) return notYet;
  const since = (time: string): string => formatDuration(sinceMs(time, now));
  const ago = since(checkedAt);
  switch (state) {
    case 'ours':
      if (!isKept(subscription)) {
        return warn(
          title,
          `subscribed when last checked, ${ago} ago`,
          'A running worker checks it. The line about workers says whether one runs.',
        );
      }
      if (expected === undefined) return ok(title, `subscribed when last checked, ${ago} ago`);
      if (
        heardAt === null &&
        expected.quota.used.send > 0 &&
        (oursSince === null || sinceMs(oursSince, now) > FIRST_WITHIN_MS)
      ) {
        return warn(
          title,
          `subscribed${oursSince === null ? '' : ` ${since(oursSince)} ago`}, but none has arrived yet, although requests were sent`,
          CHECK_URL,
        );
      }
      if (heardAt !== null && expected.awaitingReports > 0 && sinceMs(heardAt, now) > SILENT_MS) {
        return warn(
          title,
          `subscribed, but none has arrived for ${since(heardAt)}, although reports are due`,
          CHECK_URL,
        );
      }
      return ok(
        title,
        `subscribed when last checked, ${ago} ago; ${heardAt === null ? 'none has arrived yet' : `the last arrived ${since(heardAt)} ago`}`,
      );
    case 'foreign':
      return fail(
        title,
        `another system’s subscription exists, at ${detail}`,
        `To replace it: volley subscription create --lane ${lane} --force`,
      );
    case 'refused':
    case 'unanswered':
      return fail(
        title,
        `not subscribed, ${ago} ago: ${detail}`,
        `To try again: volley subscription create --lane ${lane}`,
      );
    case null:
      return notYet;
    default:
      return state satisfies never;
  }
}
