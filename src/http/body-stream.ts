import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Volley } from '../volley.js';
import { mustStillStand } from './access.js';

/** Large enough that a long answer is few writes, small enough that one watcher of a slow line holds little. */
const PIECE_LETTERS = 32 * 1024;
const LOOK_AT_KEY_EVERY_MS = 1_000;

/**
 * Answers with a long text, made no faster than it is read. If the text breaks off, or the key is revoked, so does the
 * answer: its status has long been told, so that `http.brokeOff` is all that says why.
 */
export function answerInPieces(
  reply: FastifyReply,
  text: AsyncIterable<string>,
  volley: Volley,
): FastifyReply {
  if (reply.request.method === 'HEAD') return answerHead(reply);
  const told = async function* (): AsyncGenerator<string> {
    try {
      let lookedAt = performance.now();
      for await (const piece of joined(text)) {
        if (performance.now() - lookedAt > LOOK_AT_KEY_EVERY_MS) {
          await mustStillStand(volley, reply.request);
          lookedAt = performance.now();
        }
        yield piece;
      }
    } catch (error) {
      const { method, routeOptions } = reply.request;
      // Before the first piece it is an answer like any other, and refused as one.
      if (reply.raw.headersSent) {
        volley.events.emit({ type: 'http.brokeOff', method, route: routeOptions.url ?? 'none', error });
      }
      throw error;
    }
  };
  return reply.send(Readable.from(told(), { objectMode: false, highWaterMark: PIECE_LETTERS }));
}

/**
 * Answers HEAD where GET is answered with a stream, of which nothing is made: Fastify would read the whole of it to throw
 * it away. It must be a stream all the same, or its length would be told as none.
 */
export function answerHead(reply: FastifyReply): FastifyReply {
  return reply.send(Readable.from([]));
}

async function* joined(text: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = '';
  for await (const part of text) {
    piece += part;
    if (piece.length < PIECE_LETTERS) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
