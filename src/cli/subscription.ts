import type { Command } from 'commander';
import type { Config } from '../config/index.js';
import { formatDuration } from '../duration.js';
import type { NotificationService } from '../notifications/notification-service.js';
import type {
  SubscribeOutcome,
  Subscription,
  SubscriptionService,
  UnsubscribeOutcome,
} from '../notifications/subscription-service.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { badInput, EXIT } from './exit.js';
import { findService, withVolley } from './open.js';
import { filled } from './parsed.js';

interface SubscriptionCommandOptions {
  lane?: string;
  force?: boolean;
}

/** Adds `volley subscription`. */
export function addSubscription(program: Command, context: Context): void {
  const subscription = program
    .command('subscription')
    .summary('look after the subscription to notifications')
    .description(
      'Looks after a lane’s subscription to delivery notifications, of which the service keeps one a key. Workers see to it by themselves while CALLBACK_URL is set; what is somebody else’s they leave alone. These calls use no quota.',
    );
  const common = (command: Command): Command =>
    command
      .option('-l, --lane <name>', 'the lane (default: the only one)', filled)
      .option('--json', 'print one JSON object');
  common(subscription.command('get').description('Asks the service where notifications of the lane go.'))
    .addHelpText('after', examples('subscription get'))
    .action(
      action(context, (options: SubscriptionCommandOptions) =>
        withSubscription(context, options, async (service, lane, { config, notifications }) =>
          found(await service.get(), lane, await notifications.subscriptionStatus(lane), config),
        ),
      ),
    );
  common(
    subscription
      .command('create')
      .description(
        'Subscribes the lane to notifications at CALLBACK_URL. Exit code 3: another subscription is there.',
      ),
  )
    .option('--force', 'replace somebody else’s subscription')
    .addHelpText('after', examples('subscription create', 'subscription create --lane acme --force'))
    .action(
      action(context, (options: SubscriptionCommandOptions) =>
        withSubscription(context, options, async (service, lane, { config }) => {
          if (config.callback === undefined) {
            throw badInput('CALLBACK_URL is not set: there is no address to subscribe; see .env.example.');
          }
          return created(await service.create({ force: options.force === true }), lane);
        }),
      ),
    );
  common(
    subscription
      .command('delete')
      .description(
        'Ends the lane’s subscription. Workers make it again while CALLBACK_URL is set. Exit code 3: it is somebody else’s.',
      ),
  )
    .option('--force', 'end somebody else’s subscription')
    .addHelpText('after', examples('subscription delete'))
    .action(
      action(context, (options: SubscriptionCommandOptions) =>
        withSubscription(context, options, async (service, lane, { config }) =>
          removed(await service.remove({ force: options.force === true }), lane, config),
        ),
      ),
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
  throw badInput(`There are several lanes: name one with --lane (${names.join(', ')}).`);
}

function found(
  subscription: Subscription,
  lane: string,
  { heardAt, now }: { heardAt: number; now: number },
  { callback }: Config,
): Answer {
  const lastNotificationAt = heardAt === 0 ? null : new Date(heardAt).toISOString();
  const json = { lane, ...subscription, lastNotificationAt };
  const heard =
    heardAt === 0
      ? 'No notification has come yet.'
      : `The last notification came ${formatDuration(now - heardAt)} ago.`;
  switch (subscription.state) {
    case 'ours':
      return { json, lines: [`Lane ${lane}: notifications come to ${subscription.url}. ${heard}`] };
    case 'outdated':
      return {
        json,
        lines: [
          `Lane ${lane}: the subscription to ${subscription.url} is of an earlier address or token of ours; workers renew it, or: volley subscription create --lane ${lane}`,
        ],
      };
    case 'foreign': {
      if (callback !== undefined) return { json, lines: [foreign(subscription.url, lane)] };
      return {
        json,
        lines: [`Lane ${lane}: notifications go to ${subscription.url}. ${NOT_TOLD} ${heard}`],
      };
    }
    case 'none':
      return { json, lines: [`Lane ${lane}: there is no subscription; delivery is only asked after.`] };
    case 'refused':
    case 'unanswered':
      return { json, lines: [subscription.reason], exit: EXIT.failed };
    default:
      return subscription satisfies never;
  }
}

function created(subscribed: SubscribeOutcome, lane: string): Answer {
  const json = { lane, ...subscribed };
  switch (subscribed.outcome) {
    case 'already':
      return { json, lines: [`Lane ${lane} is subscribed already, at ${subscribed.url}.`] };
    case 'created': {
      const instead = {
        none: '',
        outdated: ' in place of an earlier one of ours',
        foreign: ' in place of somebody else’s',
      }[subscribed.replaced];
      return { json, lines: [`Lane ${lane}: subscribed at ${subscribed.url}${instead}.`] };
    }
    case 'foreign':
      return { json, lines: [foreign(subscribed.url, lane)], exit: EXIT.waits };
    case 'refused':
    case 'unanswered':
      return { json, lines: [subscribed.reason], exit: EXIT.failed };
    default:
      return subscribed satisfies never;
  }
}

/** Without our address every subscription is another's. */
const NOT_TOLD = 'CALLBACK_URL is not set here, so whether that is ours cannot be told.';

function removed(unsubscribed: UnsubscribeOutcome, lane: string, { callback }: Config): Answer {
  const json = { lane, ...unsubscribed };
  switch (unsubscribed.outcome) {
    case 'deleted':
      return { json, lines: [`Lane ${lane}: the subscription to ${unsubscribed.url} is ended.`] };
    case 'none':
      return { json, lines: [`Lane ${lane}: there is no subscription.`] };
    case 'foreign':
      return {
        json,
        lines: [
          callback === undefined
            ? `Lane ${lane}: the subscription to ${unsubscribed.url} was left alone; --force ends it. ${NOT_TOLD}`
            : `Lane ${lane}: the subscription to ${unsubscribed.url} is somebody else’s, and was left alone; --force ends it.`,
        ],
        exit: EXIT.waits,
      };
    case 'refused':
    case 'unanswered':
      return { json, lines: [unsubscribed.reason], exit: EXIT.failed };
    default:
      return unsubscribed satisfies never;
  }
}

function foreign(url: string, lane: string): string {
  return `Lane ${lane}: somebody else’s subscription is there, to ${url}, and was left alone. No notifications come to us; delivery is asked after. To replace it: volley subscription create --lane ${lane} --force`;
}
