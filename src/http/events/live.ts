import { z } from 'zod';
import { BROADCAST_EVENTS } from '../../reporting/event-feed.js';
import { keyOf, maySee, mustSee } from '../access.js';
import { campaignId, mustSeeCampaign } from '../campaign-id.js';
import { Problem } from '../problem.js';
import { refused } from '../responses.js';
import type { Routes } from '../routes.js';
import { eventStreams } from './streams.js';

const stream = {
  200: {
    description: 'Server-sent events, without end',
    content: { 'text/event-stream': { schema: z.string() } },
  },
  ...refused('unavailable'),
};

const resume = z.looseObject({
  'last-event-id': z
    .string()
    .regex(
      /^(\d{1,15}-\d{1,10})?$/,
      'must be the id of an event, such as 1795300343076-0, or 0-0 for all that is kept',
    )
    .optional()
    .describe('The `id` of the event that came last: those that came after it are told first'),
});

/** Live events (server-sent events): of all that a key may see, and of one campaign. */
export const live: Routes = (app, options) => {
  const { volley, config } = options;
  const streams = eventStreams(options);
  app.addHook('preClose', async () => streams.close());

  app.get(
    '/events',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'followEvents',
        summary: 'Follow what happens',
        description: `Server-sent events: what happens to campaigns and lanes that the key may see, each with its \`id\`. \`Last-Event-ID\` resumes after one; \`gap\` says that some are not kept any more. There are ${BROADCAST_EVENTS.map((type) => `\`${type}\``).join(', ')}.`,
        tags: ['Events'],
        headers: resume,
        querystring: z.strictObject({
          lane: z.string().min(1).max(100).optional().describe('Only of this lane'),
        }),
        response: { ...stream, ...refused('notFound') },
      },
    },
    async (request, reply) => {
      const { lane } = request.query;
      const key = keyOf(request);
      if (lane !== undefined) mustSee(key, lane);
      if (lane !== undefined && !config.lanes.some(({ name }) => name === lane)) {
        throw new Problem('notFound', `there is no lane ${lane}`);
      }
      return streams.answer(
        request,
        reply,
        (event) => maySee(key, event.lane) && (lane === undefined || event.lane === lane),
      );
    },
  );

  app.get(
    '/campaigns/:id/events',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'followCampaign',
        summary: 'Follow a campaign',
        description:
          'Server-sent events: what happens to it, and `campaign.status`, its status, at first and whenever it has changed, at most once a second. It does not end with the campaign: close it when `endedAt` is set.',
        tags: ['Events'],
        params: campaignId,
        headers: resume,
        response: { ...stream, ...refused('notFound') },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      await mustSeeCampaign(volley, request, id);
      return streams.answer(request, reply, (event) => 'campaign' in event && event.campaign === id, id);
    },
  );
};
