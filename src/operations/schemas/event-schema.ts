import { z } from 'zod';
import { CATALOGUE } from '../../base/events/catalogue.js';
import type { FieldTable } from '../../base/events/entry.js';
import type { Field } from '../../base/events/field.js';
import { LIVE_ITEMS } from '../../campaign/views/live-views.js';
import { campaignStatus } from '../../campaign/views/views.js';
import { BROADCAST_EVENTS } from '../../reporting/event-feed.js';

/*
 * The events of a feed, for the OpenAPI document. The fields are those of the catalogue.
 */

const time = z.string().describe('ISO 8601, UTC');
const duration = z.string().describe('Such as `90s`');

function fieldSchema({ kind, isNullable = false }: Field<never>): z.ZodType {
  const schema =
    kind === 'number' ? z.number() : kind === 'time' ? time : kind === 'span' ? duration : z.string();
  return isNullable ? schema.nullable() : schema;
}

const events = BROADCAST_EVENTS.map((type) => {
  const fields: FieldTable = CATALOGUE[type].fields;
  const members = Object.entries(fields).map(([name, field]) => [name, fieldSchema(field)] as const);
  const named =
    'campaign' in fields
      ? {
          name: z
            .string()
            .nullable()
            .describe('Of the campaign; null for an outbox, and once the campaign has been removed'),
          idempotencyKey: z.string().nullable(),
        }
      : {};
  return z.looseObject({ type: z.literal(type), createdAt: time, ...Object.fromEntries(members), ...named });
});

const [first, ...others] = events;

/** An event, as `event: TYPE` and `data: JSON`. */
const event = z
  .discriminatedUnion('type', [first as (typeof events)[number], ...others])
  .meta({ id: 'Event', description: 'An event. A later version may add types and members.' });

const gap = z
  .object({ after: z.string().describe('The id after which the stream continues') })
  .meta({ id: 'Gap', description: 'Some events are no longer stored (`event: gap`).' });

/** An item of the feed of all events. */
export const eventData = z.union([event, gap]);

/** An item of the feed of a campaign. */
export const campaignEventData = z.union([event, gap, campaignStatus]);

/** An item of the live stream. */
export const liveData = z.union([event, gap, ...Object.values(LIVE_ITEMS)]);
