import { z } from 'zod';
import { InputError } from '../campaign/errors.js';
import { campaignId, mustSeeCampaign } from './campaign-id.js';
import { Problem } from './problem.js';
import { answered, refused } from './responses.js';
import type { Routes } from './routes.js';

const count = z.int().min(0);
const refusals = refused('notFound', 'notNow');

/** An operator's words on a campaign; what each answers is what the command line's `--json` does. */
export const commands: Routes = (app, { volley }) => {
  app.post(
    '/campaigns/:id/pause',
    {
      config: { scope: 'operate' },
      schema: {
        operationId: 'pauseCampaign',
        summary: 'Pause a campaign',
        description: 'Once this has answered, no request of it starts but those counted as in flight.',
        tags: ['Campaigns'],
        params: campaignId,
        response: {
          200: answered(
            'It is paused; so many requests are still in flight',
            z.object({ id: z.string(), state: z.literal('paused'), inFlight: count }),
          ),
          ...refusals,
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      await mustSeeCampaign(volley, request, id);
      const { inFlight } = await unlessItsState(volley.pause(id));
      return { id, state: 'paused' as const, inFlight };
    },
  );

  app.post(
    '/campaigns/:id/resume',
    {
      config: { scope: 'operate' },
      schema: {
        operationId: 'resumeCampaign',
        summary: 'Let a paused campaign go on',
        tags: ['Campaigns'],
        params: campaignId,
        response: {
          200: answered('It goes on', z.object({ id: z.string(), state: z.string() })),
          ...refusals,
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      await mustSeeCampaign(volley, request, id);
      await unlessItsState(volley.resume(id));
      const { state } = await volley.status(id);
      return { id, state };
    },
  );

  app.post(
    '/campaigns/:id/cancel',
    {
      config: { scope: 'operate' },
      schema: {
        operationId: 'cancelCampaign',
        summary: 'Cancel a campaign for good',
        description: 'Nothing more of it is sent; what was sent is still followed up.',
        tags: ['Campaigns'],
        params: campaignId,
        response: {
          200: answered(
            'It is cancelled; so many requests are still in flight',
            z.object({
              id: z.string(),
              state: z.literal('cancelled'),
              cancelled: count.describe('Recipients who will not be sent to'),
              inFlight: count,
            }),
          ),
          ...refusals,
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      await mustSeeCampaign(volley, request, id);
      const { cancelled, inFlight } = await unlessItsState(volley.cancel(id));
      return { id, state: 'cancelled' as const, cancelled, inFlight };
    },
  );

  app.post(
    '/campaigns/:id/resolve',
    {
      config: { scope: 'operate' },
      schema: {
        operationId: 'resolveCampaign',
        summary: 'Settle batches of whose outcome nobody knows',
        description:
          '`resend` at the risk of a second text, `abandon`, or count as `accepted`: all of the campaign, or one batch by the reference that its status shows.',
        tags: ['Campaigns'],
        params: campaignId,
        body: z.strictObject({
          as: z.enum(['resend', 'abandon', 'accepted']),
          request: z.string().min(1).max(100).optional(),
        }),
        response: {
          200: answered(
            'So many were settled',
            z.object({
              requests: count,
              recipients: count,
              tooEarly: z
                .object({ requests: count, until: z.string() })
                .readonly()
                .nullable()
                .describe(
                  'Left as they are because a worker may still be about to send them, and when that is over',
                ),
            }),
          ),
          ...refusals,
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      await mustSeeCampaign(volley, request, id);
      return unlessItsState(volley.resolve(id, request.body));
    },
  );
};

/** What the state of a campaign forbids is no fault of the request's form. */
async function unlessItsState<Done>(done: Promise<Done>): Promise<Done> {
  try {
    return await done;
  } catch (error) {
    if (error instanceof InputError) throw new Problem('notNow', error.message);
    throw error;
  }
}
