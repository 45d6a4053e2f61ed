import { z } from 'zod';
import { type FoundRecipient, foundRecipient } from '../campaign/views.js';
import { keyOf, mustSeeAll } from './access.js';
import { answerInPieces } from './body-stream.js';
import { country } from './campaign-request.js';
import { whileAsked } from './on-close.js';
import { answered } from './responses.js';
import type { Routes } from './routes.js';

const count = z.int().min(0);
const numbers = z.strictObject({
  numbers: z
    .array(z.string().max(100))
    .min(1)
    .describe('In any spelling; all of them, or none if one cannot be read'),
  country,
});
const one = z.strictObject({ number: z.string().min(1).max(100).describe('In any spelling'), country });

/** Where a number is found, and the numbers that are never sent to. No number stands in an address, which others log. */
export const phoneNumbers: Routes = (app, { volley }) => {
  app.post(
    '/find',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'findNumber',
        summary: 'Find a number in every campaign',
        description: 'The newest first. A POST, so that the number stands in no log of addresses.',
        tags: ['Numbers'],
        body: one,
        response: {
          200: answered(
            'Where it was found, and what became of it',
            z.object({ found: z.array(foundRecipient) }),
          ),
        },
      },
    },
    async (request, reply) => {
      const { number } = request.body;
      const lanes = keyOf(request).lanes ?? undefined;
      const signal = whileAsked(request, reply);
      const found: FoundRecipient[] = [];
      const all = volley.find(number, { country: countryOf(request.body), lanes, signal });
      for await (const recipient of all) found.push(recipient);
      return { found };
    },
  );

  app.get(
    '/suppressions',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listSuppressions',
        summary: 'The numbers that are never sent to',
        description: 'As a stream, in no order. They belong to all lanes: a key limited to some is refused.',
        tags: ['Numbers'],
        response: { 200: answered('All of them, in E.164', z.object({ numbers: z.array(z.string()) })) },
      },
    },
    async (request, reply) => {
      mustSeeAll(keyOf(request), 'the list');
      return answerInPieces(reply.type('application/json'), asJson(volley.suppression.list()), volley);
    },
  );

  app.post(
    '/suppressions',
    {
      config: { scope: 'send' },
      schema: {
        operationId: 'addSuppressions',
        summary: 'Add numbers that are never sent to',
        description:
          'For all lanes, whichever the key is limited to: who wants no texts wants none of anybody.',
        tags: ['Numbers'],
        body: numbers,
        response: {
          200: answered('They are never sent to', z.object({ added: count.describe('How many are new') })),
        },
      },
    },
    async ({ body }) => ({
      added: await volley.suppression.add(body.numbers, { country: countryOf(body) }),
    }),
  );

  app.post(
    '/suppressions/remove',
    {
      config: { scope: 'operate' },
      schema: {
        operationId: 'removeSuppressions',
        summary: 'Take numbers off that list',
        tags: ['Numbers'],
        body: numbers,
        response: {
          200: answered(
            'They may be sent to',
            z.object({ removed: count.describe('How many were on the list') }),
          ),
        },
      },
    },
    async (request) => {
      mustSeeAll(keyOf(request), 'the list');
      const { body } = request;
      return { removed: await volley.suppression.remove(body.numbers, { country: countryOf(body) }) };
    },
  );
};

/** In the library's words. */
function countryOf({ country: given }: { readonly country?: string | undefined }): string | undefined {
  return given?.toUpperCase();
}

async function* asJson(all: AsyncIterable<string>): AsyncGenerator<string> {
  let before = '{"numbers":[';
  for await (const number of all) {
    yield `${before}${JSON.stringify(number)}`;
    before = ',';
  }
  yield before === ',' ? ']}' : `${before}]}`;
}
