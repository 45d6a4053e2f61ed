import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Outbox } from '../../app/volley.js';
import { DURATION_FORM, parseDuration } from '../../base/duration.js';
import { type InputError, NotFoundError } from '../../campaign/errors.js';
import { bulkResult, outboxMessage, outboxStatus, putResult } from '../../campaign/outbox-views.js';
import { ListError, MAX_FIELD_LENGTH } from '../../intake/import/rows.js';
import type { OutboxMessage } from '../../intake/outbox/check-message.js';
import { actingFor, apiKeyOf, lanesFor, type NamesLane, onLane } from './access.js';
import { sendStream } from './body-stream.js';
import { fieldsIn, membersOf } from './campaign-members.js';
import { laneOf } from './campaign-request.js';
import { cursor, cursorOf, nextCursor, positionOf } from './cursor.js';
import { inputItems, schemaItems } from './error-to-problem.js';
import { invalidParts, Problem } from './problem.js';
import { reservation } from './request-body.js';
import {
  ANY_VALUES,
  CONTROL,
  count,
  jsonResponse,
  problemResponses,
  type Routes,
  withZod,
} from './routes.js';
import { plainMessage } from './validation.js';

const name = z.string().min(1).max(64);
const text = z.string().trim().min(1).max(200);
const outboxName = z.strictObject({ name });
const messageId = z.strictObject({
  name,
  id: z.string().min(1).max(128).describe('Your id of the message, 1 to 128 bytes'),
});
const value = z.union(
  [z.string().max(MAX_FIELD_LENGTH), z.number(), z.null()],
  `Use a number, null, or a string of up to ${MAX_FIELD_LENGTH} characters`,
);
const version = z.int().min(0);

const outboxInput = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'Use 1 to 64 letters, digits, - and _')
      .describe('Unique on its lane'),
    ...membersOf('outbox'),
    sendAt: text
      .optional()
      .describe(
        'When a message without a time is sent: `now` (the default), `appointment - 24h` (elapsed time), or `appointment - 1d` (the same time of day)',
      ),
    zone: text.optional().describe('The IANA zone of local times. Required unless `sendAt` is `now`'),
    late: z
      .string()
      .refine((time) => (parseDuration(time) ?? 0) > 0, `Use a duration greater than zero: ${DURATION_FORM}`)
      .optional()
      .describe('How long after its time a message may still be sent; then it lapses. Default: `1h`'),
  })
  .meta({ id: 'Outbox' });

const messageInput = z
  .looseObject({
    to: z.string().min(1).max(100).describe('The number, in any common spelling'),
    sendAt: z
      .string()
      .max(40)
      .nullable()
      .optional()
      .describe('ISO 8601 with an offset, or a local time of the zone of the outbox'),
    version: version
      .nullable()
      .optional()
      .describe('A message with a lower version than the stored one has no effect'),
    reference: z.string().max(128).nullable().optional().describe('Returned with the status'),
  })
  .catchall(value)
  .meta({ id: 'Message', ...ANY_VALUES });

const state = z.object({ name: z.string(), state: z.string() });
const ndjson = {
  description:
    'A result per message, in their order, as NDJSON. It begins before the list has arrived as a whole.',
  content: { 'application/x-ndjson': { schema: bulkResult } },
};

/** Creates outboxes, and stores, changes, cancels, and shows their messages. */
export const outboxes: Routes = (app, { volley, config }, memory) => {
  /** The outbox that a request names. The error is the same for one on a lane that the key may not use. */
  const requireOutbox = async (request: FastifyRequest & NamesLane, wanted: string): Promise<Outbox> => {
    const lanes = lanesFor(request);
    try {
      const lane = await volley.outboxes.laneOf(wanted, { lanes });
      return actingFor(volley, request).outbox(wanted, { lanes: [lane] });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    throw new Problem('notFound', `There is no outbox ${wanted}.`);
  };

  app.get(
    '/outboxes',
    {
      config: { cost: { itemsPerToken: 5, defaultLimit: 50 }, scope: 'read' },
      schema: {
        operationId: 'listOutboxes',
        summary: 'List the outboxes',
        description:
          'By name, those of the lanes that the key may use. A page may be short or empty before the last one: continue until `nextCursor` is null.',
        tags: ['Outboxes'],
        querystring: z.strictObject({
          limit: z.coerce.number().int().min(1).max(200).default(50).describe('The page size'),
          cursor,
        }),
        response: {
          200: jsonResponse('A page of outboxes', z.object({ outboxes: z.array(outboxStatus), nextCursor })),
        },
      },
    },
    async (request) => {
      const { limit } = request.query;
      const lanes = apiKeyOf(request).lanes ?? undefined;
      const after = await positionOf(volley, 'outboxes', request.query.cursor);
      const page = await volley.outboxes.page({ lanes, limit, after });
      return { outboxes: page.outboxes, nextCursor: await cursorOf(volley, 'outboxes', page.next) };
    },
  );

  app.post(
    '/outboxes',
    {
      config: { scope: 'send' },
      schema: {
        operationId: 'createOutbox',
        summary: 'Create an outbox',
        description:
          'An outbox sends single messages over time, each under an id of yours. Its settings never change. The status is 201 for a new outbox, and 200 for an existing one with the same settings.',
        tags: ['Outboxes'],
        body: outboxInput,
        response: {
          200: jsonResponse('The existing outbox', outboxStatus),
          201: jsonResponse('The new outbox. `Location` is its address.', outboxStatus),
          ...problemResponses('exists', 'notFound', 'keyFull'),
        },
      },
    },
    async (request, reply) => {
      const { name, sendAt, zone, late } = request.body;
      const lane = laneOf(request, request.body.lane, config);
      const lateMs = late === undefined ? undefined : parseDuration(late);
      const { outcome, outbox } = await actingFor(volley, request).outboxes.create({
        ...fieldsIn('outbox', request.body),
        name,
        sendAt,
        zone,
        lane,
        lateMs,
      });
      return reply
        .code(outcome === 'created' ? 201 : 200)
        .header('location', `/v1/outboxes/${encodeURIComponent(outbox.name)}?lane=${outbox.lane}`)
        .send(outbox);
    },
  );

  app.get(
    '/outboxes/:name',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getOutbox',
        summary: 'Get the status of an outbox',
        tags: ['Outboxes'],
        params: outboxName,
        querystring: onLane,
        response: {
          200: jsonResponse('The current status', outboxStatus),
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request) => (await requireOutbox(request, request.params.name)).status(),
  );

  for (const command of ['pause', 'resume', 'close'] as const) {
    app.post(
      `/outboxes/:name/${command}`,
      {
        config: CONTROL,
        schema: {
          operationId: `${command}Outbox`,
          summary: { pause: 'Pause an outbox', resume: 'Resume an outbox', close: 'Close an outbox' }[
            command
          ],
          description: {
            pause: 'Nothing of it is sent until you resume it. Messages still lapse when their time is over.',
            resume: 'Sends again what is due.',
            close: 'It takes no more messages, for good. Those that it has are still sent.',
          }[command],
          tags: ['Outboxes'],
          params: outboxName,
          querystring: onLane,
          response: {
            200: jsonResponse('The new state', state),
            ...problemResponses('ambiguous', 'notFound'),
          },
        },
      },
      async (request) => {
        const outbox = await requireOutbox(request, request.params.name);
        await outbox[command]();
        const status = await outbox.status();
        return { name: status.name, state: status.state };
      },
    );
  }

  app.post(
    '/outboxes/:name/cancel',
    {
      config: CONTROL,
      schema: {
        operationId: 'cancelMessages',
        summary: 'Cancel everything that waits in an outbox',
        description:
          'Also messages that are planned and not claimed. Once the status is 200, they are never sent. The outbox takes new messages; close it first if it should not.',
        tags: ['Outboxes'],
        params: outboxName,
        querystring: onLane,
        response: {
          200: jsonResponse(
            'The messages are cancelled',
            z.object({
              name: z.string(),
              cancelled: count.describe('Messages that are never sent'),
              inFlight: count.describe('Requests that are still running; their messages may be sent'),
            }),
          ),
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request) => {
      const { name: wanted } = request.params;
      return { name: wanted, ...(await (await requireOutbox(request, wanted)).cancelAll()) };
    },
  );

  app.put(
    '/outboxes/:name/messages/:id',
    {
      config: { scope: 'send' },
      // Reported together with what only the outbox can check.
      attachValidation: true,
      schema: {
        operationId: 'putMessage',
        summary: 'Store or change a message',
        description:
          'Stores a message under your id, or changes it while it is waiting. All other members are values of the text. Repeating the request changes nothing.',
        tags: ['Outboxes'],
        params: messageId,
        querystring: onLane,
        body: messageInput,
        response: {
          200: jsonResponse('What was done, and when the message will be sent', putResult),
          ...problemResponses('ambiguous', 'notFound', 'sent', 'ended', 'closed', 'opensTooLate', 'keyFull'),
        },
      },
    },
    async (request) => {
      const { id, name: wanted } = request.params;
      const { validationError: invalid } = request;
      if (invalid !== undefined && invalid.validationContext !== 'body') throw invalid;
      if (invalid !== undefined) requireQuery(request.query);
      const outbox = await requireOutbox(request, wanted);
      if (invalid !== undefined)
        throw await allProblems(invalid, request.body, (message) => outbox.problems({ ...message, id }));
      const { to, sendAt, version: own, reference, ...values } = request.body;
      const result = await outbox.put({
        ...(values as Record<string, string>),
        to,
        sendAt,
        version: own,
        reference,
        id,
      });
      switch (result.outcome) {
        case 'sent':
          throw new Problem(
            'sent',
            `Message ${id} cannot be changed any more. A second message needs another id.`,
          );
        case 'cancelled':
        case 'lapsed':
          throw new Problem(
            'ended',
            `Message ${id} is ${result.outcome}. Use another id, or a higher version.`,
          );
        default:
          return result;
      }
    },
  );

  app.get(
    '/outboxes/:name/messages/:id',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getMessage',
        summary: 'Get the state of a message',
        tags: ['Outboxes'],
        params: messageId,
        querystring: onLane,
        response: {
          200: jsonResponse('The message', outboxMessage),
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request) => (await requireOutbox(request, request.params.name)).message(request.params.id),
  );

  app.delete(
    '/outboxes/:name/messages/:id',
    {
      config: { scope: 'send', limit: 'control' },
      schema: {
        operationId: 'cancelMessage',
        summary: 'Cancel a message',
        description:
          'Once the status is 200, the message is never sent. With a version, an id that is not known is cancelled as well, so that a message that arrives late has no effect. Repeating the request changes nothing.',
        tags: ['Outboxes'],
        params: messageId,
        querystring: onLane.extend({
          version: z.coerce.number().int().min(0).optional().describe('Cancel only this or a lower version'),
        }),
        response: {
          200: jsonResponse('The message is never sent', z.object({ id: z.string(), outcome: z.string() })),
          ...problemResponses('ambiguous', 'notFound', 'sent', 'stale', 'keyFull'),
        },
      },
    },
    async (request) => {
      const { id, name: wanted } = request.params;
      const outbox = await requireOutbox(request, wanted);
      const result = await outbox.cancel(id, { version: request.query.version });
      if (result.outcome === 'sent') throw new Problem('sent', `Message ${id} cannot be cancelled any more.`);
      if (result.outcome === 'stale') throw new Problem('stale', `Message ${id} has a higher version.`);
      return result;
    },
  );

  app.get(
    '/outboxes/:name/messages',
    {
      config: { scope: 'read', transfersList: true },
      schema: {
        operationId: 'listMessages',
        summary: 'List the messages of an outbox',
        description:
          'As NDJSON, a message per line: first those that were planned, then all others, in no order. A message that is planned meanwhile may be missing, or be there twice.',
        tags: ['Outboxes'],
        params: outboxName,
        querystring: onLane,
        response: {
          200: {
            description: 'The messages',
            content: { 'application/x-ndjson': { schema: outboxMessage } },
          },
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request, reply) => {
      const outbox = await requireOutbox(request, request.params.name);
      return sendStream(reply.type('application/x-ndjson'), asLines(outbox.report()), volley);
    },
  );

  app.register(async (plain) => {
    const scope = withZod(plain);
    // The list is read from the connection, no faster than it is stored.
    scope.addContentTypeParser(
      ['application/x-ndjson', 'text/csv'],
      async (_request: FastifyRequest, body: Readable) => body,
    );
    scope.post(
      '/outboxes/:name/messages',
      {
        config: { scope: 'send', transfersList: true },
        schema: {
          operationId: 'putMessages',
          summary: 'Store or change many messages',
          description:
            'As NDJSON (`application/x-ndjson`), a message with its `id` per line, or as CSV (`text/csv`) with a header line. Each message is stored on its own, and an invalid one is a result. Repeating the request changes nothing.',
          tags: ['Outboxes'],
          consumes: ['application/x-ndjson', 'text/csv'],
          params: outboxName,
          querystring: onLane.extend({
            idColumn: text.optional().describe('Of a CSV: the column with the ids. Default: `id`'),
            toColumn: text
              .optional()
              .describe('Of a CSV: the column with the numbers. Default: found by its name and values'),
          }),
          body: z.unknown().describe('The list'),
          response: { 200: ndjson, ...problemResponses('ambiguous', 'notFound', 'closed', 'keyFull') },
        },
      },
      async (request, reply) => {
        const outbox = await requireOutbox(request, request.params.name);
        const { body } = request;
        if (!(body instanceof Readable))
          throw new Problem('unsupported', 'Send NDJSON (`application/x-ndjson`) or CSV (`text/csv`).');
        const onMemory = reservation(request, reply, memory);
        await onMemory(0);
        const list = Readable.from(limited(body, config.http.maxUploadBytes), { objectMode: false });
        const isCsv = /^text\/csv\b/i.test(request.headers['content-type'] ?? '');
        const { idColumn, toColumn } = request.query;
        const results = outbox.import(isCsv ? { csv: list } : { ndjson: list }, {
          idColumn,
          toColumn,
          onMemory,
        });
        return sendStream(reply.type('application/x-ndjson'), asLines(ofWholeBody(results)), volley);
      },
    );
  });
};

/** Validates the query of a request whose body is invalid: the validation of the route stops at the body. */
function requireQuery(query: unknown): void {
  const { error } = onLane.safeParse(query, { error: plainMessage });
  if (error !== undefined) throw Object.assign(error, { validationContext: 'querystring' });
}

/** The members of a message that do not match the schema, and what is wrong with the others. */
async function allProblems(
  error: Error,
  body: unknown,
  problemsOf: (
    message: Omit<OutboxMessage, 'id'> & { readonly to: string },
  ) => Promise<readonly InputError[]>,
): Promise<Error> {
  if (!(error instanceof z.ZodError)) return error;
  const items = schemaItems(error);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return invalidParts(items);
  const faulty = new Set(items.map(({ pointer }) => pointer.split('/')[1]));
  const others = Object.entries(body).filter(([member]) => !faulty.has(member));
  const found = await problemsOf({ to: '', ...Object.fromEntries(others) });
  const more = found.flatMap(inputItems).filter(({ pointer }) => !faulty.has(pointer.split('/')[1]));
  return invalidParts([...items, ...more]);
}

async function* asLines(rows: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`;
}

/** A list that cannot be used is the body itself, not a member of it. */
async function* ofWholeBody<Result>(results: AsyncIterable<Result>): AsyncGenerator<Result> {
  try {
    yield* results;
  } catch (error) {
    throw error instanceof ListError ? new Problem('badInput', error.message) : error;
  }
}

async function* limited(body: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  // The connection is needed for the response if the list is not read to its end.
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new Problem(
        'tooLarge',
        `The limit for a list is ${maxBytes / 1_000_000} MB (HTTP_MAX_UPLOAD_MB).`,
      );
    yield chunk;
  }
}
