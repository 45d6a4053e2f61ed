import { z } from 'zod';
import { admit, byCampaign, byLanesOfKey, byNamedLane } from '../../operations/access.js';
import { BROADCAST_EVENTS } from '../../reporting/event-feed.js';
import { callerOf } from './access.js';
import { campaignEventData, eventData } from './event-schema.js';
import { openEventStreams } from './event-streams.js';
import { problemResponses, type Routes } from './routes.js';

const streamOf = <Schema extends z.ZodType>(schema: Schema) => ({
  200: {
    description: 'An endless stream of server-sent events. The schema is that of the `data` of each event.',
    content: { 'text/event-stream': { schema } },
  },
  ...problemResponses('unavailable'),
});

/** Several types: repeated, or separated by commas. */
const eventTypes = <const Types extends readonly [string, ...string[]]>(types: Types) =>
  z
    .preprocess(
      (given) => (given === undefined ? undefined : [given].flat().flatMap((one) => String(one).split(','))),
      z.array(z.enum(types)).min(1),
    )
    .optional()
    .describe('Only events of these types. A `gap` is always sent.');

const resumeHeader = z.looseObject({
  'last-event-id': z
    .string()
    .regex(
      /^(?:0-0|\d{1,15}-\d{1,10}|[\w-]{20,100})?$/,
      'Use the id of an event, or 0-0 for all stored events',
    )
    .optional()
    .describe(
      'The `id` of the last event you received; the stream continues after it. `0-0` starts with all stored events.',
    ),
});

/**
 * Streams live events: all that a key may see, and those of one campaign. No kind of operation fits them: a stream has no end, shares a
 * connection to Redis with all others, and resumes where a header says.
 */
export const liveEvents: Routes = (app, options) => {
  const { volley, config } = options;
  const streams = openEventStreams(options);
  app.addHook('preClose', async () => streams.close());

  app.get(
    '/events',
    {
      config: { scope: 'read', limit: 'stream' },
      schema: {
        operationId: 'followEvents',
        summary: 'Follow all events',
        description: `Server-sent events of the campaigns and lanes that the key may use. Each has an \`id\`; send the last one as \`Last-Event-ID\` to resume after it. A \`gap\` event says that some events are no longer stored. The events are ${BROADCAST_EVENTS.map((type) => `\`${type}\``).join(', ')}.`,
        tags: ['Events'],
        headers: resumeHeader,
        querystring: z.strictObject({
          lane: z.string().min(1).max(100).optional().describe('Only events of this lane'),
          type: eventTypes(BROADCAST_EVENTS),
        }),
        response: { ...streamOf(eventData), ...problemResponses('notFound') },
      },
    },
    async (request, reply) => {
      const { lane, type: types } = request.query;
      const caller = callerOf(request, config);
      const { lanes } = await (lane === undefined
        ? admit(byLanesOfKey, caller, volley, {})
        : admit(byNamedLane, caller, volley, { name: lane }));
      return streams.send(
        request,
        reply,
        (event) =>
          (lanes?.includes(event.lane) ?? true) && (types === undefined || types.includes(event.type)),
      );
    },
  );

  app.get(
    '/campaigns/:id/events',
    {
      config: { scope: 'read', limit: 'stream' },
      schema: {
        operationId: 'followCampaign',
        summary: 'Follow a campaign',
        description:
          'Server-sent events of one campaign. `campaign.status` has the status of the campaign: it comes first, and again after each change, at most once a second. The stream does not end with the campaign: close it when `endedAt` is set.',
        tags: ['Events'],
        params: z.strictObject({ id: z.string().min(1).max(40) }),
        headers: resumeHeader,
        querystring: z.strictObject({ type: eventTypes([...BROADCAST_EVENTS, 'campaign.status']) }),
        response: { ...streamOf(campaignEventData), ...problemResponses('notFound') },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request, config);
      const { id } = (await admit(byCampaign, caller, volley, request.params)).input;
      const { type: types } = request.query;
      const hasStatus = types === undefined || types.includes('campaign.status');
      return streams.send(
        request,
        reply,
        (event) =>
          'campaign' in event && event.campaign === id && (types === undefined || types.includes(event.type)),
        hasStatus ? id : undefined,
      );
    },
  );
};
