import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import type { Volley } from '../../../app/volley.js';
import { requireActiveKey } from '../access/access.js';
import { acceptsGzip } from './conditional.js';

/** Large enough that a long response takes few writes, small enough that a slow client holds little memory. */
const CHUNK_LENGTH = 32 * 1024;
const CHECK_KEY_EVERY_MS = 1_000;

/**
 * Sends a long text no faster than the client reads it, compressed if the client accepts that. If the text fails or the API key is revoked midway, the response
 * ends without its last chunk; its status has been sent long before, so only the event `http.brokeOff` gives the reason.
 */
export function sendStream(reply: FastifyReply, text: AsyncIterable<string>, volley: Volley): FastifyReply {
  const isCompressed = acceptsGzip(reply.request);
  reply.header('vary', 'accept-encoding');
  if (isCompressed) reply.header('content-encoding', 'gzip');
  if (reply.request.method === 'HEAD') return sendHead(reply);
  const body = whileActive(reply, inChunks(text), volley);
  const source = Readable.from(body, { objectMode: false, highWaterMark: CHUNK_LENGTH });
  // An error of the source destroys the compressed stream, and so ends the response without its last chunk.
  return reply.send(
    isCompressed ? pipeline(source, createGzip({ level: constants.Z_BEST_SPEED }), () => {}) : source,
  );
}

/** The chunks of a body, as long as the API key is not revoked. Midway, only the event `http.brokeOff` can give the reason of an error. */
export async function* whileActive<Chunk>(
  { request, raw }: FastifyReply,
  chunks: AsyncIterable<Chunk>,
  volley: Volley,
): AsyncGenerator<Chunk> {
  try {
    let checkedAt = performance.now();
    for await (const chunk of chunks) {
      if (performance.now() - checkedAt > CHECK_KEY_EVERY_MS) {
        await requireActiveKey(volley, request);
        checkedAt = performance.now();
      }
      yield chunk;
    }
  } catch (error) {
    // Before the first chunk the error handler still sends a problem document.
    if (raw.headersSent) {
      const { method, routeOptions, id: xRequestId } = request;
      const route = routeOptions.url ?? 'none';
      volley.events.emit({ type: 'http.brokeOff', method, route, xRequestId, error });
    }
    throw error;
  }
}

/**
 * Answers HEAD for a route whose GET sends a stream. Fastify would generate the whole stream to discard it. The body has to
 * be an empty stream: an empty string would add `Content-Length: 0`.
 */
export function sendHead(reply: FastifyReply): FastifyReply {
  return reply.send(Readable.from([]));
}

async function* inChunks(text: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = '';
  for await (const part of text) {
    chunk += part;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}
