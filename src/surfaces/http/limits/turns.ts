import type { FastifyReply, FastifyRequest } from 'fastify';
import pLimit, { type LimitFunction } from 'p-limit';
import { onClose } from '../server/connections.js';
import { Problem } from '../server/problem.js';

/**
 * Lets each key run at most `max` requests at a time. The returned function resolves when it is the turn of a request, in the order in which they
 * came; a turn ends with the response or the connection. How many wait is limited by the connections of a key.
 */
export function turnsOf(max: number) {
  const keys = new Map<string, LimitFunction>();
  return async (key: string, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const limit = keys.get(key) ?? pLimit(max);
    keys.set(key, limit);
    await new Promise<void>((begin) => {
      const turn = limit(async () => {
        begin();
        await new Promise<void>((end) => onClose(request, reply, end));
      });
      void turn.then(() => {
        if (limit.activeCount + limit.pendingCount === 0) keys.delete(key);
      });
    });
    if (request.raw.socket.destroyed) throw new Problem('badInput', 'The client disconnected.');
  };
}
