import type { IncomingMessage, ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { limit, maybeCallback, maybeDuration, maybeText, members } from '../../app/input/checked.js';
import { config } from '../../app/input/volley.js';
import { isThisMachine, type LocalConfig, withLanes } from '../../base/config/index.js';
import { durationOption } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import { InputError } from '../../campaign/errors/errors.js';
import { optional, parseInput, strict, withMethod } from '../../campaign/fields/input.js';
import { keyCheck, requireApiKey } from './access/access.js';
import { sessions } from './access/session.js';
import { errorToProblem } from './bodies/error-to-problem.js';
import {
  acceptedBody,
  allowLists,
  bodyTooLarge,
  parseJsonBodies,
  rejectCompressed,
  reserveForJson,
} from './bodies/request-body.js';
import { acceptUploads } from './bodies/upload.js';
import { validateByZod } from './bodies/validation.js';
import { requireBodyRate } from './limits/body-rate.js';
import { MAX_PLAIN_BYTES } from './limits/json-limits.js';
import { listMemory } from './limits/list-memory.js';
import { docs } from './openapi/docs.js';
import { collectOpenApi } from './openapi/openapi.js';
import { type HttpOptions, type Routes, stallTimeoutOf, withZod } from './route.js';
import { callbacks } from './routes/callbacks.js';
import { consolePage } from './routes/console.js';
import { health, measureRequests } from './routes/operation.js';
import { operations } from './routes/operations.js';
import { collectMethods } from './server/allowed-methods.js';
import { discardBody, drainConnections, refuseWhileClosing, rejectNonHttp } from './server/connections.js';
import { noRoute, noSuchMethod, Problem } from './server/problem.js';
import { requestIdOf, standardHeaders } from './server/standard-headers.js';

/** The HTTP API as a Fastify app. */
export type HttpApp = FastifyInstance;

const PUBLIC_ROUTES: readonly Routes[] = [health, docs, callbacks, consolePage];

/** Worker processes stop ten seconds after their longest request, and the API has to drain before that. */
const CLOSE_GRACE_MS = 5_000;
const LINGER_MS = 30_000;
/** The longest time that a request may take to arrive: a list of a gigabyte over a slow connection. */
const REQUEST_TIMEOUT_MS = 3_600_000;

const OPTIONS = members<HttpOptions>({
  volley: withMethod('enqueue', 'must be what `createVolley` returns'),
  config,
  isLeaving: maybeCallback(),
  clock: maybeCallback(),
  linger: maybeDuration,
  stallTimeout: maybeDuration,
  closeGrace: maybeDuration,
  bodyRate: optional(strict({ minBytesPerSecond: optional(z.number().min(0)), period: maybeDuration })),
  maxConnectionsPerKey: limit,
  maxStreams: limit,
  consoleFolder: maybeText,
  maxDownloadsPerKey: limit,
  mountedAt: maybeText,
});

/**
 * Builds the HTTP API. It does not listen yet: `await createHttp(…).listen({ host, port })`.
 * Every error is answered with `application/problem+json`. An unexpected error is logged as `http.failed` with the pattern of
 * the route only: addresses, headers, and bodies contain numbers and keys and are never logged.
 */
export function createHttp(given: HttpOptions): HttpApp {
  const options = parseInput(OPTIONS, given);
  const { volley } = options;
  return createApp({
    ...options,
    config: withLanes<LocalConfig>(options.config, () => volley.knownLanes()),
  });
}

function createApp(options: HttpOptions): HttpApp {
  const { config, volley, mountedAt } = options;
  const lingerMs = durationOption('linger', options.linger, LINGER_MS);
  const stallTimeoutMs = stallTimeoutOf(options);
  const closeGraceMs = durationOption('closeGrace', options.closeGrace, CLOSE_GRACE_MS);
  const sendProblem = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const problem = errorToProblem(error, () => bodyTooLarge(request), acceptedBody(request), request);
    if (problem.code === 'failed') {
      const { method, routeOptions } = request;
      const route = routeOptions.url ?? 'none';
      volley.events.emit({ type: 'http.failed', method, route, xRequestId: request.id, error });
    }
    // The requests of public routes have no key.
    if (problem.status < 500 && request.apiKey)
      volley.keys.refused({ key: request.apiKey, code: problem.code });
    // They describe the response that failed.
    for (const name of ['content-encoding', 'content-disposition', 'etag']) reply.removeHeader(name);
    discardBody(request.raw, lingerMs);
    // Fastify would close the connection after a body that is too large, before the client has read the response.
    if (!request.raw.complete) reply.removeHeader('connection');
    return (
      reply
        .code(problem.status)
        // An invalid address reaches no hook.
        .headers({ ...standardHeaders(request.id), ...problem.headers })
        .type('application/problem+json')
        .serializer(JSON.stringify)
        .send(problem.body(mountedAt))
    );
  };
  const app = Fastify({
    logger: false,
    bodyLimit: MAX_PLAIN_BYTES,
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Requests in progress finish; event streams end by themselves.
    forceCloseConnections: 'idle',
    // Fastify's own response is not a problem document, and neither is Node's to a request without `Host`.
    return503OnClosing: false,
    http: { requireHostHeader: false },
    // An encoded id of a message.
    routerOptions: { maxParamLength: 384 },
    trustProxy: config.http.trustedProxies ?? false,
    genReqId: requestIdOf,
    frameworkErrors: sendProblem,
    clientErrorHandler: rejectNonHttp,
  });
  app.setValidatorCompiler(validateByZod);
  app.setSerializerCompiler(serializerCompiler);
  app.removeContentTypeParser('text/plain');
  parseJsonBodies(app);
  app.setErrorHandler(sendProblem);
  const methodsOf = collectMethods(app);
  /** The response to a request without a route. */
  const unrouted = (request: FastifyRequest): Problem => {
    const methods = methodsOf(request.url);
    return methods.length === 0 ? noRoute(request) : noSuchMethod(request, methods);
  };
  app.setNotFoundHandler((request) => {
    throw unrouted(request);
  });
  collectOpenApi(app, mountedAt);
  drainConnections(app, closeGraceMs);
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const problem = new Problem('expectation', 'The only value accepted is `100-continue`.');
    const body = JSON.stringify(problem.body());
    response
      .writeHead(417, {
        ...standardHeaders(requestIdOf(request)),
        'content-type': 'application/problem+json',
        'content-length': Buffer.byteLength(body),
      })
      .end(body);
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(standardHeaders(request.id));
  });
  app.addHook('preParsing', async (request, { raw }) =>
    requireBodyRate(request.raw, () => raw.headersSent, options.bodyRate),
  );
  const metrics = measureRequests(app, options);
  refuseWhileClosing(app);
  const memory = listMemory(config.http.listMemoryBytes);
  const keys = keyCheck(app, options);
  app.addHook('onRequest', async (request) => {
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
      throw new Problem('badInput', 'The header `Host` is missing.');
    }
    const repeated = SINGLE_HEADERS.find((name) => countOf(request.raw.rawHeaders, name.toLowerCase()) > 1);
    if (repeated !== undefined)
      throw new Problem('badInput', `There is more than one header \`${repeated}\`.`);
    // Checked here so that the body of a request without a route is never read.
    if (request.is404) throw unrouted(request);
  });
  // Event streams do not pass this hook; they have a timeout of their own.
  app.addHook('onSend', async (_request, { raw }) => {
    raw.setTimeout(stallTimeoutMs, () => raw.destroy());
  });
  // A request may have a body that its route did not read.
  app.addHook('onResponse', async ({ raw }) => discardBody(raw, lingerMs));
  // Each in a scope of its own, so that hooks and body parsers stay apart.
  for (const routes of PUBLIC_ROUTES) app.register(async (scope) => routes(withZod(scope), options, memory));
  app.register(async (scope) => sessions(withZod(scope), options, keys));
  app.register(async (scope) => {
    requireApiKey(scope, options, keys);
    metrics(withZod(scope), options, memory);
    scope.register(
      async (v1) => {
        // A parameter that a route does not know may be a filter that the client relies on.
        v1.addHook('onRoute', (route) => {
          route.schema = { querystring: z.strictObject({}), ...route.schema };
        });
        allowLists(v1);
        v1.addHook('onRequest', rejectCompressed);
        v1.addHook('preParsing', (request, reply) => reserveForJson(request, reply, memory));
        await acceptUploads(v1);
        operations(withZod(v1), options, memory);
      },
      { prefix: '/v1' },
    );
  });
  return app;
}

/** Node keeps only the first of some of these, and joins others, which a proxy in front may not. */
const SINGLE_HEADERS = ['Host', 'Authorization', 'Content-Type', 'Idempotency-Key'];

/** How often a header occurs. */
function countOf(rawHeaders: readonly string[], wanted: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === wanted.length && name.toLowerCase() === wanted) count += 1;
  }
  return count;
}

/** Listens on HTTP_HOST and HTTP_PORT, and returns the address. Throws an InputError if the port cannot be used. */
export async function listen(app: HttpApp, config: LocalConfig, events: Events): Promise<string> {
  const { host, port } = config.http;
  if (!isThisMachine(host) && config.secretsKey === undefined && !config.allowInsecure.includes('keys')) {
    throw new InputError(
      `HTTP_HOST is ${host}, so SECRETS_KEY must be set: without it, anyone who can write to Redis can create API keys; generate it with \`openssl rand -base64 32\`, and recreate the keys; to allow it, set ALLOW_INSECURE=keys`,
    );
  }
  try {
    const address = await app.listen({ host, port });
    events.emit({ type: 'http.listening', url: address });
    return address;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    switch (code) {
      case 'EADDRINUSE':
        throw new InputError(
          `port ${port} of ${host} is in use: set HTTP_PORT to another port, or to 0 for any free one`,
        );
      case 'EACCES':
        throw new InputError(
          `this user may not use port ${port} of ${host}: set HTTP_PORT to 1024 or higher`,
        );
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new InputError(`this machine does not have the address ${host}: correct HTTP_HOST`);
      default:
        throw error;
    }
  }
}
