import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Large enough that a long answer is few writes, small enough that one watcher of a slow line holds little. */
const PIECE_LETTERS = 32 * 1024;

/** Answers with a long text, made no faster than it is read. If the text breaks off, so does the answer. */
export function answerInPieces(reply: FastifyReply, text: AsyncIterable<string>): FastifyReply {
  return reply.send(Readable.from(joined(text), { objectMode: false, highWaterMark: PIECE_LETTERS }));
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
