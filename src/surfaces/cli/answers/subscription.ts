import { formatDuration } from '../../../base/duration.js';
import { EXIT, type ExitCode } from '../../../base/exit-codes.js';
import type {
  SubscribeOutcome,
  Subscription,
  UnsubscribeOutcome,
} from '../../../engine/notifications/subscription-service.js';
import * as operations from '../../../operations/rows/subscription.js';
import { badInput } from '../context/errors.js';
import { withServiceVolley } from '../open/open.js';
import type { Answers } from './answer.js';

/** The line that people read, and the exit code if it is not that of success. */
type Line = readonly [line: string, exit?: ExitCode];

const answers: Answers<'Subscriptions', typeof operations> = {
  async getSubscription(run, { context, input: { lane }, setting: { config } }) {
    const subscription = await run();
    const { lastNotificationAt: at } = subscription;
    const heard =
      at === null
        ? 'No notification has arrived yet.'
        : `The last notification arrived ${formatDuration(Math.max(0, context.clock() - Date.parse(at)))} ago.`;
    return answerWith(
      subscription,
      describeFound(subscription, lane, { heard, isOwnerKnown: isOwnerKnown(config) }),
    );
  },

  async createSubscription(run, { input: { lane }, setting: { config } }) {
    if (!isOwnerKnown(config))
      throw badInput('CALLBACK_URL is not set, so there is no address to subscribe. See .env.example.');
    const subscribed = await run();
    return answerWith(subscribed, describeCreated(subscribed, lane));
  },

  async deleteSubscription(run, { input: { lane }, setting: { config } }) {
    const unsubscribed = await run();
    return answerWith(unsubscribed, describeDeleted(unsubscribed, lane, isOwnerKnown(config)));
  },
};

/** Whether this machine can tell which subscriptions are those of Volley. */
const isOwnerKnown = ({ callback }: { readonly callback: object | undefined }): boolean =>
  callback !== undefined;
const OWNER_UNKNOWN =
  'CALLBACK_URL is not set here, so Volley cannot tell whether it owns that subscription.';

const answerWith = (json: object, [line, exit = EXIT.done]: Line) => ({ json, lines: [line], exit });

function describeFound(
  subscription: Subscription,
  lane: string,
  { heard, isOwnerKnown }: { readonly heard: string; readonly isOwnerKnown: boolean },
): Line {
  switch (subscription.state) {
    case 'ours':
      return [`Lane ${lane}: the service sends notifications to ${subscription.url}. ${heard}`];
    case 'shared':
      return [
        `Lane ${lane}: the service sends notifications to ${subscription.url}, the address of lane ${subscription.lane}, because it has one subscription for both. ${heard}`,
      ];
    case 'outdated':
      return [
        `Lane ${lane}: the subscription at ${subscription.url} uses an earlier address or token of Volley. Workers renew it; to renew it now: volley subscription create --lane ${lane}`,
      ];
    case 'foreign':
      return [
        isOwnerKnown
          ? foreign(subscription.url, lane)
          : `Lane ${lane}: the service sends notifications to ${subscription.url}. ${OWNER_UNKNOWN} ${heard}`,
      ];
    case 'none':
      return [`Lane ${lane}: there is no subscription. Workers poll the delivery status instead.`];
    case 'refused':
    case 'unanswered':
      return [subscription.reason, EXIT.failed];
    default:
      return subscription satisfies never;
  }
}

function describeCreated(subscribed: SubscribeOutcome, lane: string): Line {
  switch (subscribed.outcome) {
    case 'already':
      return [`Lane ${lane} is already subscribed at ${subscribed.url}.`];
    case 'shared':
      return [
        `Lane ${lane} shares the subscription of lane ${subscribed.lane} at ${subscribed.url}: the service has one for both.`,
      ];
    case 'created': {
      const instead = {
        none: '',
        outdated: ', replacing an earlier subscription of Volley',
        foreign: ', replacing another system’s subscription',
      }[subscribed.replaced];
      return [`Lane ${lane}: subscribed at ${subscribed.url}${instead}.`];
    }
    case 'foreign':
      return [foreign(subscribed.url, lane), EXIT.waits];
    case 'refused':
    case 'unanswered':
      return [subscribed.reason, EXIT.failed];
    default:
      return subscribed satisfies never;
  }
}

function describeDeleted(unsubscribed: UnsubscribeOutcome, lane: string, isOwnerKnown: boolean): Line {
  switch (unsubscribed.outcome) {
    case 'deleted':
      return [`Lane ${lane}: the subscription at ${unsubscribed.url} is deleted.`];
    case 'none':
      return [`Lane ${lane}: there is no subscription.`];
    case 'shared': {
      const { url, lanes } = unsubscribed;
      return [
        `Lane ${lane}: the subscription at ${url} was left alone, because ${lanes.join(', ')} ${lanes.length === 1 ? 'needs' : 'need'} it. To delete it, add --force.`,
        EXIT.waits,
      ];
    }
    case 'foreign': {
      const leftAlone = isOwnerKnown
        ? 'belongs to another system and was left alone.'
        : `was left alone. ${OWNER_UNKNOWN}`;
      return [
        `Lane ${lane}: the subscription at ${unsubscribed.url} ${leftAlone} To delete it, add --force.`,
        EXIT.waits,
      ];
    }
    case 'refused':
    case 'unanswered':
      return [unsubscribed.reason, EXIT.failed];
    default:
      return unsubscribed satisfies never;
  }
}

function foreign(url: string, lane: string): string {
  return `Lane ${lane}: another system’s subscription exists, at ${url}, and was left alone. Volley gets no notifications; workers poll the delivery status instead. To replace it: volley subscription create --lane ${lane} --force`;
}

/** All of them call the service. */
const opener = () => withServiceVolley;

export { answers, opener, operations };
