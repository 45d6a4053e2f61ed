import { z } from 'zod';
import { returnedFields } from '../fields/field-schemas.js';
import { CAMPAIGN_STATES } from '../states/campaign.js';
import { inboundMessage } from '../states/inbound.js';
import { time } from './measures.js';
import { resultPage } from './recipient-views.js';
import { recipientCounts } from './views.js';

/*
 * What Volley posts to webhooks: a schema for each type of event. The OpenAPI document shows them.
 */

const eventOf = <const Type extends string, Data extends z.ZodType>(
  type: Type,
  id: string,
  description: string,
  data: Data,
) =>
  z
    .object({ type: z.literal(type), timestamp: time.describe('When it happened; ISO 8601, UTC'), data })
    .meta({ id, description });

const { results, campaigns } = resultPage.unwrap().shape;
const { total: _total, ...inState } = recipientCounts.unwrap().shape;

const ALL = [
  eventOf(
    'recipients.settled',
    'RecipientsSettled',
    'Recipients whose outcome has become final or unknown, in the state that they have when the request is sent: at most 200, and 64 kB.',
    z.object({ results, campaigns }),
  ),
  eventOf(
    'campaign.state',
    'CampaignState',
    'A campaign whose state has changed, for example to `completed`.',
    z.object({
      campaign: z.string(),
      name: z.string(),
      lane: z.string(),
      idempotencyKey: z.string().nullable(),
      ...returnedFields,
      revision: z.int().min(0).describe('How often the campaign was changed'),
      state: z.enum(CAMPAIGN_STATES),
      recipientCount: z.int().min(0),
      counts: z.object(inState),
      endedAt: time.nullable().describe('When the last recipient got its final state; null before'),
    }),
  ),
  eventOf(
    'lane.stopped',
    'LaneStopped',
    'A lane that sends nothing more until an operator resumes it.',
    z.object({ lane: z.string(), state: z.literal('stopped'), reason: z.string() }),
  ),
  eventOf('inbound.received', 'InboundReceived', 'A message that a person has sent.', inboundMessage),
  eventOf(
    'webhook.test',
    'WebhookTested',
    'A test, which `testWebhook` posts.',
    z.object({ webhook: z.string().describe('Its id') }),
  ),
] as const;

type Event = z.output<(typeof ALL)[number]>;
/** The type of an event. */
export type WebhookEventType = Event['type'];
/** What an event of a type says. */
export type WebhookData<Type extends WebhookEventType> = Extract<Event, { readonly type: Type }>['data'];

const isDelivered = (type: WebhookEventType): type is DeliveredEvent => type !== 'webhook.test';
/** The types of events that an endpoint gets by itself. A test is posted at once. */
export type DeliveredEvent = Exclude<WebhookEventType, 'webhook.test'>;
/** See {@link DeliveredEvent}. */
export const DELIVERED_EVENTS: readonly DeliveredEvent[] = ALL.map(({ shape }) => shape.type.value).filter(
  isDelivered,
);

/** The schema of each event, by its type. */
export const WEBHOOK_EVENTS: ReadonlyMap<WebhookEventType, (typeof ALL)[number]> = new Map(
  ALL.map((event) => [event.shape.type.value, event]),
);
