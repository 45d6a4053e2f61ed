import { z } from 'zod';
import type {
  SubscribeOutcome,
  Subscription,
  UnsubscribeOutcome,
} from '../../engine/notifications/subscription-service.js';
import { byCallingLane } from '../access.js';
import { call } from '../operation.js';
import { LANE_FLAG, laneName, ofLibrary } from '../schemas/schemas.js';

/** The subscription of a lane to delivery notifications. */
const SUBSCRIPTION = {
  tag: 'Subscriptions',
  access: byCallingLane,
  http: { because: 'it belongs to the API key of the lane, which the operator shares with other systems' },
} as const;
const LANE = { ...LANE_FLAG, about: 'the lane (default: the only one)' } as const;
const onLane = z.strictObject({ lane: laneName });
const forced = onLane.extend({ force: z.boolean().default(false) });

export const getSubscription = call({
  ...SUBSCRIPTION,
  name: 'getSubscription',
  summary: 'Ask the service where it sends the notifications of a lane',
  cli: { usage: 'subscription get', lane: 'only', flags: { lane: LANE }, examples: ['subscription get'] },
  input: onLane,
  output: ofLibrary<{ readonly lane: string; readonly lastNotificationAt: string | null } & Subscription>(),
  returns: 'The subscription, and when the last notification arrived',
  async run({ notifications }, { lane }) {
    const subscription = await notifications.subscription(lane).get();
    const { heardAt } = await notifications.subscriptionStatus(lane);
    return {
      lane,
      ...subscription,
      lastNotificationAt: heardAt,
    };
  },
});

export const createSubscription = call({
  ...SUBSCRIPTION,
  name: 'createSubscription',
  summary: 'Subscribe a lane to notifications at CALLBACK_URL',
  audit: 'subscription.create',
  cli: {
    usage: 'subscription create',
    lane: 'only',
    note: 'Exit code 3: another system’s subscription exists.',
    flags: { lane: LANE, force: { about: 'replace another system’s subscription' } },
    examples: ['subscription create', 'subscription create --lane default --force'],
  },
  input: forced,
  output: ofLibrary<{ readonly lane: string } & SubscribeOutcome>(),
  returns: 'What the subscription came to',
  run: async ({ notifications }, { lane, force }) => ({
    lane,
    ...(await notifications.subscription(lane).create({ force })),
  }),
});

export const deleteSubscription = call({
  ...SUBSCRIPTION,
  name: 'deleteSubscription',
  summary: 'Delete the subscription of a lane',
  description: 'Workers create it again while CALLBACK_URL is set.',
  audit: 'subscription.delete',
  cli: {
    usage: 'subscription delete',
    lane: 'only',
    note: 'Exit code 3: it belongs to another system.',
    flags: { lane: LANE, force: { about: 'delete another system’s subscription' } },
    examples: ['subscription delete'],
  },
  input: forced,
  output: ofLibrary<{ readonly lane: string } & UnsubscribeOutcome>(),
  returns: 'What the deletion came to',
  run: async ({ notifications }, { lane, force }) => ({
    lane,
    ...(await notifications.subscription(lane).remove({ force })),
  }),
});
