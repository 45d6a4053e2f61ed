import { z } from 'zod';
import { resultPage } from '../../campaign/recipient-views.js';
import { requireLane } from '../../operations/access.js';
import { apiKeyOf } from './access.js';
import { invalidParts } from './problem.js';
import { jsonResponse, problemResponses, type Routes } from './routes.js';

/** A position in each of 100 lanes, as a token. */
const MAX_CURSOR_LENGTH = 12_000;

/** Lets programs follow the results of all recipients. */
export const results: Routes = (app, { volley }) => {
  app.get(
    '/results',
    {
      config: { cost: { itemsPerToken: 250, defaultLimit: 1_000 }, scope: 'read', transfersList: true },
      schema: {
        operationId: 'listResults',
        summary: 'Follow the results of recipients',
        description:
          'Returns recipients that have become settled or unknown, of all campaigns that the key may see, with their current state. Process a page, store its `next`, and pass that as `after`, at once if `hasMore` is true, and otherwise in a while. Each result is delivered at least once; a later state of a recipient follows an earlier one. You can continue from a cursor as long as the campaigns are kept (`RETENTION`); after that, the response is 410. Resending to a recipient is not a result; the outcome of that request is. Rows that were left out as duplicates are results with the status `duplicate`. Messages of outboxes have their `outbox` and your id, `message`, and are results as well if they are cancelled or lapse while they wait.',
        tags: ['Campaigns'],
        querystring: z.strictObject({
          after: z
            .string()
            .max(MAX_CURSOR_LENGTH)
            .optional()
            .describe('`next` of an earlier page. Default: the oldest result that is kept'),
          limit: z.coerce.number().int().min(1).max(10_000).default(1_000).describe('The page size'),
          lane: z
            .string()
            .min(1)
            .max(100)
            .optional()
            .describe('Only results of this lane. Required with more than 100 lanes'),
        }),
        response: {
          200: jsonResponse('A page of results', resultPage),
          ...problemResponses('gone'),
        },
      },
    },
    async (request) => {
      const { after, limit, lane } = request.query;
      const key = apiKeyOf(request);
      if (lane !== undefined) requireLane(key, lane);
      const position = after === undefined ? undefined : await volley.positions.reveal('results', after);
      if (position === null)
        throw invalidParts([{ pointer: 'query/after', message: 'Use the `next` of an earlier page' }]);
      const page = await volley.results({
        limit,
        after: position,
        lanes: lane === undefined ? (key.lanes ?? undefined) : [lane],
      });
      return { ...page, next: await volley.positions.conceal('results', page.next) };
    },
  );
};
