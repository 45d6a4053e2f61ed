import { z } from 'zod';
import { type FoundRecipient, foundRecipient } from '../campaign/views.js';
import { apiKeyOf, requireAllLanes } from './access.js';
import { sendStream } from './body-stream.js';
import { country } from './campaign-request.js';
import { abortOnClose } from './connections.js';
import { count, jsonResponse, type Routes } from './routes.js';

const numberList = z.strictObject({
  numbers: z
    .array(z.string().max(100))
    .min(1)
    .describe('In any common spelling. If one of them is not a phone number, nothing is changed.'),
  country,
});
const oneNumber = z.strictObject({
  number: z.string().min(1).max(100).describe('In any common spelling'),
  country,
});

/** Finds numbers and manages the suppression list. Numbers never appear in an address, because proxies log addresses. */
export const suppressions: Routes = (app, { volley }) => {
  app.post(
    '/find',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'findNumber',
        summary: 'Find a number in every campaign',
        description:
          'The newest campaign comes first. This is a POST so that the number appears in no access log.',
        tags: ['Numbers'],
        body: oneNumber,
        response: {
          200: jsonResponse(
            'The campaigns with this number, and its status in each',
            z.object({ found: z.array(foundRecipient) }),
          ),
        },
      },
    },
    async (request, reply) => {
      const { number, country } = request.body;
      const lanes = apiKeyOf(request).lanes ?? undefined;
      const signal = abortOnClose(request, reply);
      const found: FoundRecipient[] = [];
      const all = volley.find(number, { country, lanes, signal });
      for await (const recipient of all) found.push(recipient);
      return { found };
    },
  );

  app.get(
    '/suppressions',
    {
      config: { scope: 'read', transfersList: true },
      schema: {
        operationId: 'listSuppressions',
        summary: 'List the suppressed numbers',
        description:
          'Numbers that never receive a message, as a stream in no particular order. The list covers all lanes, so the key must not be limited to lanes.',
        tags: ['Numbers'],
        response: {
          200: jsonResponse('All suppressed numbers, in E.164', z.object({ numbers: z.array(z.string()) })),
        },
      },
    },
    async (request, reply) => {
      requireAllLanes(apiKeyOf(request), 'Suppressions');
      return sendStream(reply.type('application/json'), asJson(volley.suppression.list()), volley);
    },
  );

  app.post(
    '/suppressions',
    {
      config: { scope: 'send', transfersList: true },
      schema: {
        operationId: 'addSuppressions',
        summary: 'Suppress numbers',
        description:
          'From now on, no campaign on any lane sends to these numbers. A key that is limited to lanes may add numbers, too.',
        tags: ['Numbers'],
        body: numberList,
        response: {
          200: jsonResponse(
            'The numbers are suppressed',
            z.object({ added: count.describe('Numbers that were not suppressed before') }),
          ),
        },
      },
    },
    async ({ body }) => ({
      added: await volley.suppression.add(body.numbers, { country: body.country }),
    }),
  );

  app.post(
    '/suppressions/remove',
    {
      config: { scope: 'operate', transfersList: true },
      schema: {
        operationId: 'removeSuppressions',
        summary: 'Remove numbers from the suppression list',
        description: 'The list covers all lanes, so the key must not be limited to lanes.',
        tags: ['Numbers'],
        body: numberList,
        response: {
          200: jsonResponse(
            'The numbers are no longer suppressed',
            z.object({ removed: count.describe('Numbers that were suppressed before') }),
          ),
        },
      },
    },
    async (request) => {
      requireAllLanes(apiKeyOf(request), 'Suppressions');
      const { body } = request;
      return { removed: await volley.suppression.remove(body.numbers, { country: body.country }) };
    },
  );
};

async function* asJson(numbers: AsyncIterable<string>): AsyncGenerator<string> {
  let separator = '{"numbers":[';
  for await (const number of numbers) {
    yield `${separator}${JSON.stringify(number)}`;
    separator = ',';
  }
  yield separator === ',' ? ']}' : `${separator}]}`;
}
