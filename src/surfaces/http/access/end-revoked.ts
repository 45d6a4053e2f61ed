import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Volley } from '../../../app/volley.js';
import { onClose } from '../server/connections.js';
import type { Problem } from '../server/problem.js';
import { createSharedPoll } from '../server/shared-poll.js';

/** Requests in progress for longer than this are looked after. All others check the key themselves before they write. */
const LOOK_AFTER_MS = 1_000;
/** How long the client may take to read the response before its connection is closed, even if it still sends its request. */
const CLOSE_AFTER_MS = 1_000;

/**
 * Ends a key's requests in progress within about two seconds of its revocation, its end, or the end of its secret: the returned function
 * watches a request whose key has this text. A client that has no response yet gets `revoked`; any other response ends incomplete.
 */
export function requestEnder(keys: Volley['keys'], revoked: () => Problem) {
  const activeKeys = createSharedPoll((key) => keys.isActive(key));
  return (key: string, request: FastifyRequest, reply: FastifyReply): void => {
    let unsubscribe = (): void => {};
    const end = (): void => {
      unsubscribe();
      if (reply.raw.headersSent) {
        reply.raw.destroy();
        return;
      }
      reply.send(revoked());
      // What the request still sends is read only until then, and an import that reads it is discarded.
      setTimeout(() => request.raw.destroy(), CLOSE_AFTER_MS).unref();
    };
    const timer = setTimeout(() => {
      unsubscribe = activeKeys.subscribe(key, (isActive) => void (isActive || end()));
    }, LOOK_AFTER_MS).unref();
    onClose(request, reply, () => {
      clearTimeout(timer);
      unsubscribe();
    });
  };
}
