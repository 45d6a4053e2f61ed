import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { NOTHING_TAKEN } from './consumed-body.js';
import { Problem } from './problem.js';

/**
 * Reads bodies of JSON. One that is not UTF-8 is refused: with its letters replaced, a name in Latin-1 would reach its
 * owner's phone as "S�ren". An empty one is none, because many clients name the type of a body that they do not send.
 */
export function takeJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (bytes.length === 0) return done(null, null);
    if (!isUtf8(bytes)) {
      return done(new Problem('badInput', 'the body is not UTF-8, as JSON must be: encode it as that'));
    }
    parse(request, bytes.toString(), (error: Error | null, value?: unknown) => {
      if (error !== null) {
        const why =
          'the body is no JSON, or has a member that is called `__proto__` or `constructor.prototype`';
        return done(new Problem('badInput', why));
      }
      if (request.routeOptions.schema?.body === undefined && !isEmpty(value)) {
        return done(new Problem('badInput', NOTHING_TAKEN));
      }
      done(null, value);
    });
  });
}

/** What a client says that has nothing to say. */
function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}
