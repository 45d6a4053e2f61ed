import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Volley } from '../../app/volley.js';
import type { NoRecords } from '../../call-records/fetch.js';
import type { RecordsDownload } from '../../call-records/open-file.js';
import { RECORDS_STATES } from '../../call-records/states.js';
import { type RecordsRequest, recordsRequest } from '../../call-records/view.js';
import type { ApiKey } from '../../campaign/api-key.js';
import { NotFoundError } from '../../campaign/errors.js';
import { listed } from '../../campaign/listed.js';
import { allowsLane, requireLane } from '../../operations/access.js';
import { actingFor, apiKeyOf, requireActiveKey } from './access.js';
import { abortOnClose } from './connections.js';
import { Problem } from './problem.js';
import { concurrencyLimit } from './rate-limit.js';
import { type HttpOptions, jsonResponse, problemResponses, type Routes } from './routes.js';

/** How long a request waits for others of its credential. A client that waits longer would rather retry. */
const WAIT_MS = 20_000;
const CHECK_KEY_EVERY_MS = 1_000;
/** Each may wait for hours, and asks Redis again and again. */
const MAX_DOWNLOADS_PER_KEY = 50;

const id = z.strictObject({ id: z.string().min(1).max(40) });
const parameters = z
  .record(z.string().max(40), z.string().min(1).max(1_000))
  .describe('The parameters of the contract, as texts');
const input = z
  .strictObject({
    lane: z.string().min(1).max(100).optional().describe('Default: the only lane'),
    from: z.string().max(10).describe('The first day, such as `2026-01-31`'),
    to: z.string().max(10).describe('The last day'),
    parameters: parameters.optional(),
    globalMobile: z
      .union([z.boolean(), z.array(z.string().min(1).max(40)).min(1).max(100)])
      .optional()
      .describe(
        'Which numbers are Global Mobile Numbers, whose records begin on 2023-02-01: all of the request (`true`), or these',
      ),
    key: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'Names the request: another one with the same key is the same one, unless that has ended without a file. Default: its content',
      ),
    again: z.boolean().optional().describe('Send a new request although there is one with the same key'),
  })
  .meta({ id: 'Records' });
const listing = z.strictObject({
  lane: z.string().min(1).max(100).optional().describe('Only requests of this lane'),
  state: z.enum(RECORDS_STATES).optional().describe('Only requests in this state'),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
});
const resolution = z
  .discriminatedUnion('as', [
    z.strictObject({
      as: z.literal('accepted'),
      serviceId: z.string().min(1).max(512).describe('The id that the service gave the request'),
    }),
    z.strictObject({ as: z.literal('resend') }),
    z.strictObject({ as: z.literal('abandon') }),
  ])
  .describe('`accepted`: the service has it, under this id. `resend`: it does not; send it again');

const file = {
  description: 'The file as the service sends it, with its content type',
  content: { 'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) } },
};
const problems = problemResponses('notFound', 'invalidState', 'tooManyRequests', 'unavailable');

/** Requests call records and downloads them. */
export const records: Routes = (app, { volley, maxDownloadsPerKey = MAX_DOWNLOADS_PER_KEY }: HttpOptions) => {
  const limitDownloads = concurrencyLimit(maxDownloadsPerKey, 'downloads of call records');
  const requireRequest = async (request: FastifyRequest, wanted: string): Promise<RecordsRequest> => {
    const found = await shown(volley, apiKeyOf(request), wanted);
    if (found !== null) return found;
    throw new Problem('notFound', `There is no request for call records ${wanted}.`);
  };
  /** Sends the file that `open` opens. It is closed when the client disconnects. */
  const download = async (
    request: FastifyRequest,
    reply: FastifyReply,
    open: (signal: AbortSignal) => Promise<RecordsDownload | NoRecords>,
  ): Promise<FastifyReply> => {
    limitDownloads(apiKeyOf(request).id, request, reply);
    const signal = abortOnClose(request, reply);
    return sendFile(reply, await answered(() => open(signal)), volley);
  };
  const laneFor = (request: FastifyRequest, lane: string | undefined): string | undefined => {
    const key = apiKeyOf(request);
    const chosen = lane ?? (key.lanes?.length === 1 ? key.lanes[0] : undefined);
    if (chosen !== undefined) requireLane(key, chosen);
    else if (key.lanes !== null) {
      throw new Problem('badInput', `This key is limited to lanes. Choose one: ${listed(key.lanes)}.`);
    }
    return chosen;
  };

  app.get(
    '/records',
    {
      config: { cost: { itemsPerToken: 50, defaultLimit: 100 }, scope: 'read' },
      schema: {
        operationId: 'listRecords',
        summary: 'List the requests for call records',
        description: 'Newest first, of the lanes that the key may use. The service is not asked.',
        tags: ['Call records'],
        querystring: listing,
        response: { 200: jsonResponse('The requests', z.object({ requests: z.array(recordsRequest) })) },
      },
    },
    async (request) => {
      const { lane, state, limit } = request.query;
      const key = apiKeyOf(request);
      if (lane !== undefined) requireLane(key, lane);
      const lanes = lane === undefined ? (key.lanes ?? undefined) : [lane];
      return { requests: await answered(() => volley.records.list({ lanes, state, limit })) };
    },
  );

  app.post(
    '/records',
    {
      config: { scope: 'send' },
      schema: {
        operationId: 'requestRecords',
        summary: 'Request call records',
        description:
          'Sends the request at most once. A request with the same key or content is returned instead, unless it has ended without a file. If the outcome is unknown, its state is `unknown`.',
        tags: ['Call records'],
        body: input,
        response: { 200: jsonResponse('The request as it is now', recordsRequest), ...problems },
      },
    },
    async (request, reply) => {
      const { again, ...wanted } = request.body;
      const lane = laneFor(request, wanted.lane);
      const signal = abortOnClose(request, reply);
      return answered(() =>
        actingFor(volley, request).records.request({ ...wanted, lane }, { signal, again, waitMs: WAIT_MS }),
      );
    },
  );

  app.post(
    '/records/fetch',
    {
      config: { scope: 'send', transfersList: true },
      schema: {
        operationId: 'fetchRecords',
        summary: 'Request call records, wait, and download them',
        description:
          'The response begins when the file is ready, which may take hours. If the connection breaks, send the same body again: the request is not sent twice.',
        tags: ['Call records'],
        body: input,
        response: { 200: file, ...problems },
      },
    },
    async (request, reply) => {
      const { again, ...wanted } = request.body;
      const lane = laneFor(request, wanted.lane);
      const own = actingFor(volley, request).records;
      return download(request, reply, (signal) => own.fetch({ ...wanted, lane }, { signal, again }));
    },
  );

  app.get(
    '/records/:id',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getRecords',
        summary: 'Get a request for call records',
        description: 'As Volley knows it. The service is not asked.',
        tags: ['Call records'],
        params: id,
        response: { 200: jsonResponse('The request', recordsRequest), ...problemResponses('notFound') },
      },
    },
    async (request) => requireRequest(request, request.params.id),
  );

  app.post(
    '/records/:id/status',
    {
      config: { scope: 'send' },
      schema: {
        operationId: 'getRecordsStatus',
        summary: 'Ask the service how far a request is',
        description: 'Asks at most once per interval of the contract.',
        tags: ['Call records'],
        params: id,
        response: { 200: jsonResponse('The request as it is now', recordsRequest), ...problems },
      },
    },
    async (request, reply) => {
      const found = await requireRequest(request, request.params.id);
      const signal = abortOnClose(request, reply);
      return answered(() => volley.records.status(found.id, { signal, waitMs: WAIT_MS }));
    },
  );

  app.get(
    '/records/:id/download',
    {
      config: { scope: 'send', transfersList: true },
      // A HEAD would download the file to discard it.
      exposeHeadRoute: false,
      schema: {
        operationId: 'downloadRecords',
        summary: 'Download the file of a request that is ready',
        tags: ['Call records'],
        params: id,
        response: { 200: file, ...problems },
      },
    },
    async (request, reply) => {
      const found = await requireRequest(request, request.params.id);
      return download(request, reply, (signal) =>
        actingFor(volley, request).records.download(found.id, { signal, waitMs: WAIT_MS }),
      );
    },
  );

  app.post(
    '/records/:id/fetch',
    {
      config: { scope: 'send', transfersList: true },
      schema: {
        operationId: 'fetchRequestedRecords',
        summary: 'Wait for the file of a request, and download it',
        description: 'The response begins when the file is ready, which may take hours.',
        tags: ['Call records'],
        params: id,
        response: { 200: file, ...problems },
      },
    },
    async (request, reply) => {
      const found = await requireRequest(request, request.params.id);
      return download(request, reply, (signal) =>
        actingFor(volley, request).records.fetch({ id: found.id }, { signal }),
      );
    },
  );

  app.post(
    '/records/:id/resolve',
    {
      config: { scope: 'operate' },
      schema: {
        operationId: 'resolveRecords',
        summary: 'Settle a request with an unknown outcome',
        description: 'Look the request up at the service first.',
        tags: ['Call records'],
        params: id,
        body: resolution,
        response: { 200: jsonResponse('The request as it is now', recordsRequest), ...problems },
      },
    },
    async (request, reply) => {
      const found = await requireRequest(request, request.params.id);
      if (found.state !== 'unknown' && !(found.state === 'planned' && request.body.as === 'abandon')) {
        throw new Problem(
          'invalidState',
          `The request is ${found.state}. Only one with an unknown outcome can be resolved.`,
        );
      }
      const signal = abortOnClose(request, reply);
      return answered(() =>
        actingFor(volley, request).records.resolve(found.id, request.body, { signal, waitMs: WAIT_MS }),
      );
    },
  );
};

/** The request; null if there is none, or on a lane that the key may not use. */
async function shown(volley: Volley, key: ApiKey, wanted: string): Promise<RecordsRequest | null> {
  try {
    const found = await volley.records.show(wanted);
    return allowsLane(key, found.lane) ? found : null;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

/** Maps the errors of call records to problems. */
async function answered<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name === 'RecordsBusyError') {
      const ms = 'retryInMs' in error ? Number(error.retryInMs) : 1_000;
      throw new Problem('tooManyRequests', 'Another request of this credential is in flight.', {
        headers: { 'retry-after': String(Math.ceil(ms / 1_000)) },
      });
    }
    if (error.name === 'NoTokenError') throw new Problem('unavailable', error.message);
    throw error;
  }
}

function sendFile(reply: FastifyReply, opened: RecordsDownload | NoRecords, volley: Volley): FastifyReply {
  if (opened.kind === 'none') {
    throw new Problem('invalidState', opened.reason, { members: { request: opened.request } });
  }
  const { request, contentType, length, body } = opened;
  const checked = async function* (): AsyncGenerator<Buffer> {
    let checkedAt = performance.now();
    try {
      for await (const chunk of body) {
        if (performance.now() - checkedAt > CHECK_KEY_EVERY_MS) {
          await requireActiveKey(volley, reply.request);
          checkedAt = performance.now();
        }
        yield chunk;
      }
    } catch (error) {
      const { method, routeOptions, id: xRequestId } = reply.request;
      if (reply.raw.headersSent) {
        const route = routeOptions.url ?? 'none';
        volley.events.emit({ type: 'http.brokeOff', method, route, xRequestId, error });
      }
      throw error;
    }
  };
  return reply
    .type(contentType)
    .headers({
      'content-disposition': `attachment; filename="records-${request.id}"`,
      'x-content-type-options': 'nosniff',
      'records-id': request.id,
      ...(length !== null && { 'content-length': String(length) }),
    })
    .send(Readable.from(checked(), { objectMode: false }));
}
