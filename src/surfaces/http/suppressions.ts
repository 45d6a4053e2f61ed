import { z } from 'zod';
import type { ApiKey } from '../../campaign/api-key.js';
import { listed } from '../../campaign/listed.js';
import { type FoundRecipient, foundRecipient } from '../../campaign/recipient-views.js';
import { suppressionOperation } from '../../campaign/suppression.js';
import { allowsLane, requireLane } from '../../operations/access.js';
import { country } from '../../operations/campaign-members.js';
import { actingFor, apiKeyOf } from './access.js';
import { sendStream } from './body-stream.js';
import { abortOnClose } from './connections.js';
import { cursor, cursorOf, nextCursor, positionOf } from './cursor.js';
import { longList } from './json-slices.js';
import { invalidParts, Problem } from './problem.js';
import { CONTROL, count, jsonResponse, problemResponses, type Routes } from './routes.js';

const lane = z
  .string()
  .min(1)
  .max(100)
  .optional()
  .describe(
    'The lane whose list is meant. Without it, the list of the whole installation, or for a key that is limited to one lane, that of its lane.',
  );
const numberList = z.strictObject({
  numbers: longList(z.string().max(100)).describe(
    'In any common spelling. If one of them is not a phone number, nothing is changed.',
  ),
  country,
  lane,
  reason: z.string().max(200).optional().describe('Why, for the record of the operation'),
});
const oneNumber = z.strictObject({
  number: z.string().min(1).max(100).describe('In any common spelling'),
  country,
});
const operationId = z.strictObject({ id: z.string().regex(/^\d{1,15}$/, 'Use the `id` of an operation') });
const operation = z
  .string()
  .describe('The id of the operation, with which it can be undone; empty if it changed nothing');
const changedLane = z
  .string()
  .nullable()
  .describe('The lane whose list changed; null: the list for all lanes');

/** Finds numbers and manages the suppression lists. Numbers never appear in an address, because proxies log addresses. */
export const suppressions: Routes = (app, { volley }) => {
  app.post(
    '/find',
    {
      config: { cost: { tokens: 10 }, scope: 'read' },
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
          'Numbers that never receive a message, as a stream in no particular order: those of one lane, or those for all lanes.',
        tags: ['Numbers'],
        querystring: z.strictObject({ lane }),
        response: {
          200: jsonResponse('The numbers of the list, in E.164', z.object({ numbers: z.array(z.string()) })),
          ...problemResponses('notFound'),
        },
      },
    },
    async (request, reply) => {
      const wanted = listOf(apiKeyOf(request), request.query.lane, 'query/lane');
      const numbers = actingFor(volley, request).suppression.list({ lane: wanted });
      return sendStream(reply.type('application/json'), asJson(numbers), volley);
    },
  );

  app.post(
    '/suppressions',
    {
      config: { scope: 'send', list: 'numbers', transfersList: true },
      schema: {
        operationId: 'addSuppressions',
        summary: 'Suppress numbers',
        description:
          'From now on, no campaign of the lane, or of any lane, sends to these numbers. A key that is limited to lanes changes only the lists of its lanes. Each key may suppress a limited number of numbers, which is set when the key is created.',
        tags: ['Numbers'],
        body: numberList,
        response: {
          200: jsonResponse(
            'The numbers are suppressed',
            z.object({
              operation,
              lane: changedLane,
              added: count.describe('Numbers that were not on the list before'),
            }),
          ),
          ...problemResponses('notFound'),
        },
      },
    },
    async (request) => {
      const { numbers, lane: named, ...options } = request.body;
      const key = apiKeyOf(request);
      const wanted = listOf(key, named, '/lane');
      const done = await actingFor(volley, request).suppression.add(numbers, {
        ...options,
        lane: wanted,
        max: key.maxSuppressions,
      });
      return { operation: done.operation ?? '', lane: wanted ?? null, added: done.numbers };
    },
  );

  app.post(
    '/suppressions/remove',
    {
      config: { scope: 'operate', list: 'numbers', transfersList: true },
      schema: {
        operationId: 'removeSuppressions',
        summary: 'Remove numbers from a suppression list',
        description:
          'A number that is also on the list for all lanes stays suppressed. A key that is limited to lanes changes only the lists of its lanes.',
        tags: ['Numbers'],
        body: numberList,
        response: {
          200: jsonResponse(
            'The numbers are no longer on the list',
            z.object({
              operation,
              lane: changedLane,
              removed: count.describe('Numbers that were on the list before'),
            }),
          ),
          ...problemResponses('notFound'),
        },
      },
    },
    async (request) => {
      const { numbers, lane: named, ...options } = request.body;
      const key = apiKeyOf(request);
      const wanted = listOf(key, named, '/lane');
      const done = await actingFor(volley, request).suppression.remove(numbers, {
        ...options,
        lane: wanted,
        max: key.maxSuppressions,
      });
      return { operation: done.operation ?? '', lane: wanted ?? null, removed: done.numbers };
    },
  );

  app.get(
    '/suppressions/operations',
    {
      config: { cost: { itemsPerToken: 50, defaultLimit: 50 }, scope: 'read' },
      schema: {
        operationId: 'listSuppressionOperations',
        summary: 'List the changes of the suppression lists',
        description:
          'Newest first. A key that is limited to lanes sees those of its lanes. Continue until `nextCursor` is null.',
        tags: ['Numbers'],
        querystring: z.strictObject({
          lane: z.string().min(1).max(100).optional().describe('Only changes of the list of this lane'),
          limit: z.coerce.number().int().min(1).max(200).default(50).describe('The page size'),
          cursor,
        }),
        response: {
          200: jsonResponse(
            'A page of operations, newest first',
            z.object({
              operations: z.array(suppressionOperation),
              nextCursor,
            }),
          ),
        },
      },
    },
    async (request) => {
      const { lane: named, limit } = request.query;
      const key = apiKeyOf(request);
      if (named !== undefined) requireLane(key, named);
      const lanes = named === undefined ? (key.lanes ?? undefined) : [named];
      const after = await positionOf(volley, 'suppressions', request.query.cursor);
      const page = await volley.suppression.operations({ lanes, limit, after });
      return { operations: page.operations, nextCursor: await cursorOf(volley, 'suppressions', page.next) };
    },
  );

  app.post(
    '/suppressions/operations/:id/undo',
    {
      config: CONTROL,
      schema: {
        operationId: 'undoSuppressionOperation',
        summary: 'Undo a change of a suppression list',
        description:
          'An addition takes its numbers off the list, except those that another operation also added. A removal, for 30 days, puts them back.',
        tags: ['Numbers'],
        params: operationId,
        response: {
          200: jsonResponse(
            'The change is undone',
            z.object({ operation, changed: count.describe('Numbers that the list got or lost') }),
          ),
          ...problemResponses('notFound'),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      const found = await volley.suppression.operation(id);
      const key = apiKeyOf(request);
      if (key.lanes !== null && (found.lane === null || !allowsLane(key, found.lane))) {
        throw new Problem('notFound', `There is no suppression operation ${id}.`);
      }
      const { numbers } = await actingFor(volley, request).suppression.undo(id);
      return { operation: id, changed: numbers };
    },
  );
};

/** The list that a request means: that of a lane; undefined: that of the installation. A limited key may only use its own lanes. */
function listOf(key: ApiKey, named: string | undefined, pointer: string): string | undefined {
  if (named !== undefined) {
    requireLane(key, named);
    return named;
  }
  if (key.lanes === null) return undefined;
  const [only, ...others] = key.lanes;
  if (only !== undefined && others.length === 0) return only;
  const message = `The key is limited to several lanes; name one: ${listed(key.lanes)}`;
  throw invalidParts([{ pointer, message }]);
}

async function* asJson(numbers: AsyncIterable<string>): AsyncGenerator<string> {
  let separator = '{"numbers":[';
  for await (const number of numbers) {
    yield `${separator}${JSON.stringify(number)}`;
    separator = ',';
  }
  yield separator === ',' ? ']}' : `${separator}]}`;
}
