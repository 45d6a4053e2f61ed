import { z } from 'zod';
import { type FoundRecipient, foundRecipient } from '../campaign/views.js';
import { keyOf, maySee, mustSeeAll } from './access.js';
import { laneOrNone } from './campaign-id.js';
import { answerInPieces } from './pieces.js';
import { problemBody } from './problem.js';
import type { Routes } from './routes.js';

const count = z.int().min(0);
const numbers = z.strictObject({
  numbers: z
    .array(z.string().max(100))
    .min(1)
    .describe('In any spelling; all of them, or none if one cannot be read'),
});

/** Where a number is found, and the numbers that are never sent to. No number stands in an address, which others log. */
export const phoneNumbers: Routes = (app, { volley }) => {
  app.post(
    '/find',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'Find a number in every campaign',
        description: 'The newest first. A POST, so that the number stands in no log of addresses.',
        tags: ['Numbers'],
        body: z.strictObject({ number: z.string().min(1).max(100).describe('In any spelling') }),
        response: { 200: z.object({ found: z.array(foundRecipient) }), 400: problemBody },
      },
    },
    async (request) => {
      const key = keyOf(request);
      const found: FoundRecipient[] = [];
      for await (const recipient of volley.find(request.body.number)) {
        const lane = key.lanes === null ? null : await laneOrNone(volley, recipient.campaign);
        if (key.lanes === null || (lane !== null && maySee(key, lane))) found.push(recipient);
      }
      return { found };
    },
  );

  app.get(
    '/suppressions',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The numbers that are never sent to',
        description: 'As a stream, in no order. They belong to all lanes: a key limited to some is refused.',
        tags: ['Numbers'],
        response: { 200: z.object({ numbers: z.array(z.string()) }), 403: problemBody },
      },
    },
    async (request, reply) => {
      mustSeeAll(keyOf(request), 'the list');
      return answerInPieces(reply.type('application/json'), asJson(volley.suppression.list()), volley.events);
    },
  );

  app.post(
    '/suppressions',
    {
      config: { scope: 'send' },
      schema: {
        summary: 'Add numbers that are never sent to',
        description:
          'For all lanes, whichever the key is limited to: who wants no texts wants none of anybody.',
        tags: ['Numbers'],
        body: numbers,
        response: { 200: z.object({ added: count.describe('How many are new') }), 400: problemBody },
      },
    },
    async (request) => ({ added: await volley.suppression.add(request.body.numbers) }),
  );

  app.post(
    '/suppressions/remove',
    {
      config: { scope: 'operate' },
      schema: {
        summary: 'Take numbers off that list',
        tags: ['Numbers'],
        body: numbers,
        response: { 200: z.object({ removed: count }), 400: problemBody, 403: problemBody },
      },
    },
    async (request) => {
      mustSeeAll(keyOf(request), 'the list');
      return { removed: await volley.suppression.remove(request.body.numbers) };
    },
  );
};

async function* asJson(all: AsyncIterable<string>): AsyncGenerator<string> {
  let before = '{"numbers":[';
  for await (const number of all) {
    yield `${before}${JSON.stringify(number)}`;
    before = ',';
  }
  yield before === ',' ? ']}' : `${before}]}`;
}
