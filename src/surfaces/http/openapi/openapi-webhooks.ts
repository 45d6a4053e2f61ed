import type { OpenAPIV3_1 } from 'openapi-types';
import { WEBHOOK_EVENTS } from '../../../campaign/views/webhook-events.js';

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' as const },
});

const HEADERS = [
  header(
    'webhook-id',
    'The id of the event. A repeated request has the same: ignore ids that you have processed',
  ),
  header('webhook-timestamp', 'When the request was sent, in seconds since the epoch'),
  header('webhook-signature', 'The signatures, as Standard Webhooks specifies'),
];

/** The requests that Volley posts to webhooks: one for each type of event. */
export const webhooksOf = (): Record<string, OpenAPIV3_1.PathItemObject> =>
  Object.fromEntries(
    [...WEBHOOK_EVENTS].map(([type, event]) => {
      const { id, description = '' } = event.meta() ?? {};
      const operation = {
        operationId: `on${id}`,
        summary: type,
        description,
        tags: ['Webhooks'],
        security: [],
        parameters: HEADERS,
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: `#/components/schemas/${id}` } } },
        },
        responses: {
          '2XX': {
            description: 'The event is stored. Without such a response within 20 s, Volley sends it again',
          },
        },
      };
      return [type, { post: operation }];
    }),
  );
