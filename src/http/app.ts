import type { ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { guard } from './access.js';
import { callbacks } from './callbacks.js';
import { campaigns } from './campaigns.js';
import { commands } from './commands.js';
import { endInGoodOrder, hearOut, refuseNoise } from './connections.js';
import { bodyTaken } from './consumed-body.js';
import { document } from './document/document.js';
import { collectDocument } from './document/openapi.js';
import { live } from './events/live.js';
import { health } from './health.js';
import { takeJson } from './json-body.js';
import { lanes } from './lanes.js';
import { measured } from './metrics.js';
import { phoneNumbers } from './numbers.js';
import { nothingHere, Problem } from './problem.js';
import { problemOf } from './problem-of.js';
import { report } from './report.js';
import { type HttpOptions, type Routes, typed } from './routes.js';
import { takeUploads } from './upload.js';
import { validator } from './validation.js';

/** The app, with schemas of zod. */
export type HttpApp = FastifyInstance;

/** Below `/v1`, each with a scope, and nobody comes in without a key. */
const BEHIND_KEYS: readonly Routes[] = [campaigns, commands, report, live, lanes, phoneNumbers];
/** For everybody who reaches the port. */
const OPEN: readonly Routes[] = [health, document, callbacks];

/** Long enough for what is nearly there. Process shells end ten seconds after their longest request, and drain before it. */
const CLOSE_GRACE_MS = 5_000;
const LINGER_MS = 30_000;
const PATIENCE_MS = 60_000;
/** The longest that a request may take to come in: a list of a gigabyte over a slow line. */
const REQUEST_WITHIN_MS = 3_600_000;

/**
 * Puts the HTTP API together; it listens when it is told to: `await createHttp(…).listen({ host, port })`.
 * Every error is answered as `application/problem+json`. What nobody foresaw is told as `http.failed`, by the route's
 * pattern: addresses, headers and bodies hold numbers and keys, and are never logged.
 */
export function createHttp(options: HttpOptions): HttpApp {
  const {
    config,
    volley,
    lingerMs = LINGER_MS,
    patienceMs = PATIENCE_MS,
    closeGraceMs = CLOSE_GRACE_MS,
  } = options;
  const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const problem = problemOf(error, { body: bodyTaken(request), maxJsonBytes: config.http.maxJsonBytes });
    if (problem.code === 'failed') {
      const { method, routeOptions } = request;
      volley.events.emit({ type: 'http.failed', method, route: routeOptions.url ?? 'none', error });
    }
    hearOut(request.raw, lingerMs);
    // With it Fastify would close on a body that is too large, which takes the answer along before it is read.
    if (!request.raw.complete) reply.removeHeader('connection');
    return reply
      .code(problem.status)
      .headers(problem.headers)
      .type('application/problem+json')
      .serializer(JSON.stringify)
      .send(problem.toJSON());
  };
  const app = Fastify({
    logger: false,
    bodyLimit: config.http.maxJsonBytes,
    // A body's members must not become those of its prototype; such a body is refused.
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    requestTimeout: REQUEST_WITHIN_MS,
    // What is under way is seen through; live streams are ended by their own room.
    forceCloseConnections: 'idle',
    frameworkErrors: refuse,
    clientErrorHandler: refuseNoise,
  });
  app.setValidatorCompiler(validator);
  app.setSerializerCompiler(serializerCompiler);
  app.removeContentTypeParser('text/plain');
  takeJson(app);
  app.setErrorHandler(refuse);
  app.setNotFoundHandler((request) => {
    throw nothingHere(request);
  });
  collectDocument(app);
  endInGoodOrder(app, closeGraceMs);
  app.server.on('checkExpectation', (_request, response: ServerResponse) => {
    const body = JSON.stringify(new Problem('expectation', 'expect nothing, or `100-continue`'));
    response.writeHead(417, { 'content-type': 'application/problem+json' }).end(body);
  });
  const metrics = measured(app, options);
  app.addHook('onRequest', async (request) => {
    // Before a body is read that nobody wants.
    if (request.is404) throw nothingHere(request);
  });
  // Live streams have a patience of their own.
  app.addHook('onSend', async (_request, { raw }) => {
    raw.setTimeout(patienceMs, () => raw.destroy());
  });
  // A body that nobody asked for may still be on its way when the answer is out.
  app.addHook('onResponse', async ({ raw }) => hearOut(raw, lingerMs));
  // Each in a room of its own: what one does to bodies is nothing to the others.
  for (const routes of OPEN) app.register(async (scope) => routes(typed(scope), options));
  app.register(async (scope) => {
    await guard(scope, options);
    metrics(typed(scope), options);
    scope.register(
      async (v1) => {
        v1.addHook('onRequest', mustBePlain);
        await takeUploads(v1);
        for (const routes of BEHIND_KEYS) routes(typed(v1), { ...options, patienceMs });
      },
      { prefix: '/v1' },
    );
  });
  return app;
}

/** Nothing here unpacks a body: what came out of a small one could be without end. */
async function mustBePlain({ method, headers }: FastifyRequest): Promise<void> {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (method !== 'POST' || encoding.toLowerCase() === 'identity') return;
  throw new Problem('unsupported', 'no body is taken that is compressed: send it without `Content-Encoding`');
}
