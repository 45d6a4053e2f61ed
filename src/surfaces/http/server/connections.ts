import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from './problem.js';
import { newRequestId, standardHeaders } from './standard-headers.js';

const CLOSE_IDLE_EVERY_MS = 100;

/**
 * Closes connections in an orderly way when the app closes: responses finish to their last byte, idle connections are
 * closed, and requests that are still incomplete after `graceMs` are cut off. Node alone would cut off a response that is
 * written but not yet received, would wait for connections that never carried a request, and would give an upload that
 * stopped halfway an hour.
 */
export function drainConnections(app: FastifyInstance, graceMs: number): void {
  const { server } = app;
  const requestsOf = new Map<Socket, Set<IncomingMessage>>();
  server.on('connection', (socket: Socket) => {
    requestsOf.set(socket, new Set());
    socket.once('close', () => requestsOf.delete(socket));
  });
  server.on('request', (request, response) => {
    const requests = requestsOf.get(request.socket);
    requests?.add(request);
    response.once('close', () => requests?.delete(request));
  });
  // Node and Fastify call this, too, when they close.
  server.closeIdleConnections = () => {
    for (const [socket, requests] of requestsOf) if (requests.size === 0) socket.destroy();
  };
  const timers: NodeJS.Timeout[] = [];
  app.addHook('preClose', async () => {
    timers.push(setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS));
    timers.push(
      setTimeout(() => {
        for (const [socket, requests] of requestsOf) {
          if ([...requests].some(({ complete }) => !complete)) socket.destroy();
        }
      }, graceMs),
    );
  });
  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer);
  });
}

/**
 * Reads and discards the rest of a body after its response, so that the client receives the response and can send its next
 * request. After `lingerMs` the connection is closed.
 */
export function discardBody(request: IncomingMessage, lingerMs: number): void {
  if (request.destroyed) return;
  request.unpipe().resume();
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), lingerMs);
  const stop = (): void => clearTimeout(timer);
  request.once('end', stop).once('close', stop);
}

/** What Node's parser reports, and the response to it. Anything else is not HTTP. */
const PARSER_PROBLEMS: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: new Problem('headersTooLarge', 'The address and the headers exceed 16 kB.'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new Problem('tooLarge', 'The chunk extensions of the body exceed 16 kB.'),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem('requestTimeout', 'The request did not arrive in time.'),
};
const NOT_HTTP = new Problem('badInput', 'This is not a valid HTTP request.');

/** Answers a request that Node cannot parse, or that arrives too slowly, and closes the connection. */
export function rejectNonHttp(error: Error & { code?: string }, socket: Socket): void {
  const { code = '' } = error;
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = PARSER_PROBLEMS[code] ?? NOT_HTTP;
  const body = JSON.stringify(problem.body());
  const headers = {
    ...standardHeaders(newRequestId()),
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`);
  // A client that is too slow could otherwise go on, and the request would hold what it has.
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroySoon();
}

/**
 * Refuses every request that arrives after the app has begun to close: it may be on a connection that carried another one. The
 * client can send it to another process.
 */
export function refuseWhileClosing(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onRequest', async () => {
    if (!isClosing) return;
    throw new Problem('unavailable', 'This process is shutting down. Send the request again.', {
      headers: { 'retry-after': '1' },
    });
  });
}

/**
 * Calls back once when the response or its connection is closed; immediately if the connection already is. A response that
 * is queued behind another on the same connection (pipelining) emits no event of its own when the connection breaks.
 */
export function onClose(
  { raw: { socket } }: FastifyRequest,
  { raw }: FastifyReply,
  callback: () => void,
): void {
  if (socket.destroyed) {
    callback();
    return;
  }
  let isClosed = false;
  const close = (): void => {
    // Node emits one of the two events from within the other.
    if (isClosed) return;
    isClosed = true;
    raw.off('close', close);
    socket.off('close', close);
    callback();
  };
  // One listener for each response in the queue. Fastify, compression, and plugins listen to the response, too.
  socket.setMaxListeners(0);
  raw.setMaxListeners(0);
  raw.on('close', close);
  socket.on('close', close);
}

/** Aborts when the client disconnects: the result would reach no client. */
export function abortOnClose(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  onClose(request, reply, () => controller.abort(new Problem('badInput', 'The client disconnected.')));
  return controller.signal;
}
