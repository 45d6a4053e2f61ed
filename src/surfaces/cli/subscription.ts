import type { Config } from '../../base/config/index.js';
import { formatDuration } from '../../base/duration.js';
import { EXIT, type ExitCode } from '../../base/exit-codes.js';
import type { NotificationService } from '../../engine/notifications/notification-service.js';
import type {
  SubscribeOutcome,
  Subscription,
  SubscriptionService,
  UnsubscribeOutcome,
} from '../../engine/notifications/subscription-service.js';
import type { Answer, Context } from './context.js';
import { badInput } from './errors.js';
import { findService, withVolley } from './open.js';

interface SubscriptionCommandOptions {
  lane?: string;
  force?: boolean;
}

/** `volley subscription get` */
export function get(context: Context, options: SubscriptionCommandOptions): Promise<Answer> {
  return withSubscription(context, options, async (subscription, lane, { config, notifications }) =>
    found(await subscription.get(), lane, await notifications.subscriptionStatus(lane), config),
  );
}

/** `volley subscription create` */
export function create(context: Context, options: SubscriptionCommandOptions): Promise<Answer> {
  return withSubscription(context, options, async (subscription, lane, { config }) => {
    if (config.callback === undefined) {
      throw badInput('CALLBACK_URL is not set, so there is no address to subscribe. See .env.example.');
    }
    return created(await subscription.create({ force: options.force === true }), lane);
  });
}

/** `volley subscription delete` */
export function remove(context: Context, options: SubscriptionCommandOptions): Promise<Answer> {
  return withSubscription(context, options, async (subscription, lane, { config }) =>
    removed(await subscription.remove({ force: options.force === true }), lane, config),
  );
}

async function withSubscription(
  context: Context,
  options: SubscriptionCommandOptions,
  use: (
    service: SubscriptionService,
    lane: string,
    more: { config: Config; notifications: NotificationService },
  ) => Promise<Answer>,
): Promise<Answer> {
  const setting = await findService(context);
  const { config } = setting;
  const lane = options.lane ?? onlyLane(config);
  return withVolley(context, setting, ({ notifications }) =>
    use(notifications.subscription(lane), lane, { config, notifications }),
  );
}

function onlyLane({ lanes }: Config): string {
  const names = lanes.map(({ name }) => name);
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  throw badInput(`There are several lanes. Choose one with --lane (${names.join(', ')}).`);
}

function found(
  subscription: Subscription,
  lane: string,
  { heardAt, now }: { heardAt: number; now: number },
  { callback }: Config,
): Answer {
  const lastNotificationAt = heardAt === 0 ? null : new Date(heardAt).toISOString();
  const answer = answerWith({ lane, ...subscription, lastNotificationAt });
  const heard =
    heardAt === 0
      ? 'No notification has arrived yet.'
      : `The last notification arrived ${formatDuration(now - heardAt)} ago.`;
  switch (subscription.state) {
    case 'ours':
      return answer(`Lane ${lane}: the service sends notifications to ${subscription.url}. ${heard}`);
    case 'shared':
      return answer(
        `Lane ${lane}: the service sends notifications to ${subscription.url}, the address of lane ${subscription.lane}, because it has one subscription for both. ${heard}`,
      );
    case 'outdated':
      return answer(
        `Lane ${lane}: the subscription at ${subscription.url} uses an earlier address or token of Volley. Workers renew it; to renew it now: volley subscription create --lane ${lane}`,
      );
    case 'foreign':
      return answer(
        callback === undefined
          ? `Lane ${lane}: the service sends notifications to ${subscription.url}. ${OWNER_UNKNOWN} ${heard}`
          : foreign(subscription.url, lane),
      );
    case 'none':
      return answer(`Lane ${lane}: there is no subscription. Workers poll the delivery status instead.`);
    case 'refused':
    case 'unanswered':
      return answer(subscription.reason, EXIT.failed);
    default:
      return subscription satisfies never;
  }
}

function created(subscribed: SubscribeOutcome, lane: string): Answer {
  const answer = answerWith({ lane, ...subscribed });
  switch (subscribed.outcome) {
    case 'already':
      return answer(`Lane ${lane} is already subscribed at ${subscribed.url}.`);
    case 'shared':
      return answer(
        `Lane ${lane} shares the subscription of lane ${subscribed.lane} at ${subscribed.url}: the service has one for both.`,
      );
    case 'created': {
      const instead = {
        none: '',
        outdated: ', replacing an earlier subscription of Volley',
        foreign: ', replacing another system’s subscription',
      }[subscribed.replaced];
      return answer(`Lane ${lane}: subscribed at ${subscribed.url}${instead}.`);
    }
    case 'foreign':
      return answer(foreign(subscribed.url, lane), EXIT.waits);
    case 'refused':
    case 'unanswered':
      return answer(subscribed.reason, EXIT.failed);
    default:
      return subscribed satisfies never;
  }
}

const OWNER_UNKNOWN =
  'CALLBACK_URL is not set here, so Volley cannot tell whether it owns that subscription.';

function removed(unsubscribed: UnsubscribeOutcome, lane: string, { callback }: Config): Answer {
  const answer = answerWith({ lane, ...unsubscribed });
  switch (unsubscribed.outcome) {
    case 'deleted':
      return answer(`Lane ${lane}: the subscription at ${unsubscribed.url} is deleted.`);
    case 'none':
      return answer(`Lane ${lane}: there is no subscription.`);
    case 'shared':
      return answer(
        `Lane ${lane}: the subscription at ${unsubscribed.url} was left alone, because ${unsubscribed.lanes.join(', ')} ${unsubscribed.lanes.length === 1 ? 'needs' : 'need'} it. To delete it, add --force.`,
        EXIT.waits,
      );
    case 'foreign':
      return answer(
        callback === undefined
          ? `Lane ${lane}: the subscription at ${unsubscribed.url} was left alone. ${OWNER_UNKNOWN} To delete it, add --force.`
          : `Lane ${lane}: the subscription at ${unsubscribed.url} belongs to another system and was left alone. To delete it, add --force.`,
        EXIT.waits,
      );
    case 'refused':
    case 'unanswered':
      return answer(unsubscribed.reason, EXIT.failed);
    default:
      return unsubscribed satisfies never;
  }
}

/** Answers with one line for people, and this object for programs. */
function answerWith(json: object): (line: string, exit?: ExitCode) => Answer {
  return (line, exit = EXIT.done) => ({ json, lines: [line], exit });
}

function foreign(url: string, lane: string): string {
  return `Lane ${lane}: another system’s subscription exists, at ${url}, and was left alone. Volley gets no notifications; workers poll the delivery status instead. To replace it: volley subscription create --lane ${lane} --force`;
}
