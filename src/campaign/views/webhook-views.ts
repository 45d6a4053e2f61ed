import { z } from 'zod';
import { type Actor, actor } from '../states/actor.js';
import { count, textOrNull, time } from './measures.js';
import { DELIVERED_EVENTS, type DeliveredEvent } from './webhook-events.js';

/*
 * The public form of webhook endpoints.
 */

/** Why an endpoint gets nothing. */
export const DISABLED_BECAUSE = [
  'operator',
  'gone',
  'failing',
  'keyRevoked',
  'keyExpired',
  'keyInvalid',
] as const;
/** See {@link DISABLED_BECAUSE}. */
export type DisabledBecause = (typeof DISABLED_BECAUSE)[number];

/** An endpoint of a producer, to which Volley posts events. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  /** The lanes whose events it gets; null: all lanes, also those that are added later. */
  readonly lanes: readonly string[] | null;
  /** The types of events that it gets; null: all. */
  readonly events: readonly DeliveredEvent[] | null;
  /** The outboxes, and the tags of campaigns and outboxes, whose results it gets; both null: all. */
  readonly outboxes: readonly string[] | null;
  readonly tags: readonly string[] | null;
  /** The API key that it belongs to, and ends with; null: none. */
  readonly key: string | null;
  readonly state: 'enabled' | 'disabled';
  /** Null while it is enabled. */
  readonly disabledBecause: DisabledBecause | null;
  readonly createdAt: string;
  readonly createdBy: Actor;
  /** Until when events are also signed with the secret from before the last rotation. */
  readonly oldSecretUntil: string | null;
  /** Events that it has accepted. */
  readonly deliveredCount: number;
  /** Results in these events. */
  readonly resultCount: number;
  /** Events that it has not accepted yet. What follows them is not counted. */
  readonly waitingCount: number;
  /** Events that were given up on, which you can replay. */
  readonly failedCount: number;
  /** Results that were removed at the end of `RETENTION` before the endpoint had accepted them, at least. */
  readonly removedCount: number;
  readonly lastDeliveredAt: string | null;
  /** Since when every request has failed; null if the last one succeeded. */
  readonly failingSince: string | null;
  /** Why the last request failed; null if it succeeded. */
  readonly lastError: string | null;
}

const names = z.array(z.string()).readonly().nullable();

/** See {@link Webhook}. */
export const webhook = z
  .object({
    id: z.string(),
    url: z.string(),
    lanes: z
      .array(z.string())
      .readonly()
      .nullable()
      .describe('The lanes whose events it gets; null: all lanes, also those that are added later'),
    events: z
      .array(z.enum(DELIVERED_EVENTS))
      .readonly()
      .nullable()
      .describe('The types of events that it gets; null: all'),
    outboxes: names.describe('The outboxes whose results it gets. If `tags` is null as well: all'),
    tags: names.describe(
      'The tags of the campaigns and outboxes whose results it gets. If `outboxes` is null as well: all',
    ),
    key: textOrNull.describe('The API key that it belongs to, and ends with; null: none'),
    state: z.enum(['enabled', 'disabled']),
    disabledBecause: z
      .enum(DISABLED_BECAUSE)
      .nullable()
      .describe(
        '`operator`: you disabled it; `gone`: it answered 410; `failing`: every request failed for five days; `keyRevoked`: its API key was revoked; `keyExpired`: that key has expired, or its session of the console has ended; `keyInvalid`: that key does not work, as `state` of the key says. Null while it is enabled',
      ),
    createdAt: time,
    createdBy: actor,
    oldSecretUntil: time
      .nullable()
      .describe('Until when events are also signed with the secret from before the last rotation'),
    deliveredCount: count.describe('Events that it has accepted'),
    resultCount: count.describe('Results in these events'),
    waitingCount: count.describe('Events that it has not accepted yet. What follows them is not counted'),
    failedCount: count.describe('Events that were given up on, which you can replay'),
    removedCount: count.describe(
      'Results that were removed at the end of RETENTION before the endpoint had accepted them, at least',
    ),
    lastDeliveredAt: time.nullable(),
    failingSince: time
      .nullable()
      .describe('Since when every request has failed; null if the last one succeeded'),
    lastError: textOrNull.describe('Why the last request failed; null if it succeeded'),
  })
  .readonly()
  .meta({ id: 'Webhook' });
/** An endpoint with its secret, which is shown only once. */
export interface WebhookWithSecret extends Webhook {
  /** Signs the events, as Standard Webhooks says: give it to the receiver. */
  readonly secret: string;
}

/** See {@link WebhookWithSecret}. */
export const webhookWithSecret = webhook
  .unwrap()
  .extend({
    secret: z
      .string()
      .describe('Signs the events, as Standard Webhooks says. It is shown only now: give it to the receiver'),
  })
  .readonly()
  .meta({ id: 'WebhookWithSecret' });
/** An event that an endpoint refused again and again while it accepted others. */
export interface FailedDelivery {
  /** The `webhook-id` of its requests. */
  readonly id: string;
  /** The type of the event, such as `recipients.settled`. */
  readonly type: string;
  readonly lane: string;
  /** How many results it names. */
  readonly resultCount: number;
  readonly createdAt: string;
  readonly failedAt: string;
  readonly attemptCount: number;
  readonly reason: string;
}

/** See {@link FailedDelivery}. */
export const failedDelivery = z
  .object({
    id: z.string().describe('The `webhook-id` of its requests'),
    type: z.string().describe('The type of the event, such as `recipients.settled`'),
    lane: z.string(),
    resultCount: count.describe('How many results it names'),
    createdAt: time,
    failedAt: time,
    attemptCount: count,
    reason: z.string(),
  })
  .readonly()
  .meta({ id: 'FailedDelivery' });
/** What an endpoint answered to a test. */
export interface WebhookTest {
  /** The `webhook-id` of the request. */
  readonly id: string;
  readonly outcome: 'accepted' | 'failed';
  /** The HTTP status of the response; null if there was none. */
  readonly status: number | null;
  /** Why it failed; null if it was accepted. */
  readonly reason: string | null;
  /** How long it took, such as `83ms`. */
  readonly took: string;
}

/** See {@link WebhookTest}. */
export const webhookTest = z
  .object({
    id: z.string().describe('The `webhook-id` of the request'),
    outcome: z.enum(['accepted', 'failed']),
    status: z.int().nullable().describe('The HTTP status of the response; null if there was none'),
    reason: textOrNull.describe('Why it failed; null if it was accepted'),
    took: z.string().describe('How long it took, such as `83ms`'),
  })
  .readonly()
  .meta({ id: 'WebhookTest' });
