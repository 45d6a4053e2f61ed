import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from './problem.js';

/**
 * Calls once when an answer is over, or its connection is: at once if that is gone already. An answer that is queued
 * behind another of the same connection (pipelining) is not told that it ended.
 */
export function onceOver({ raw: { socket } }: FastifyRequest, { raw }: FastifyReply, tell: () => void): void {
  if (socket.destroyed) {
    tell();
    return;
  }
  let isOver = false;
  const over = (): void => {
    // Node tells the one from within the other.
    if (isOver) return;
    isOver = true;
    raw.off('close', over);
    socket.off('close', over);
    tell();
  };
  // As many as are queued behind each other.
  socket.setMaxListeners(0);
  raw.on('close', over);
  socket.on('close', over);
}

/** Fires when whoever asked has gone: then nobody would hear what became of it. */
export function whileAsked(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  const over = new AbortController();
  onceOver(request, reply, () => over.abort(new Problem('badInput', 'whoever asked has gone')));
  return over.signal;
}
