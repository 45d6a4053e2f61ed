import type { ReceiveOutcome } from '../notifications/receiver.js';
import { nothingHere, Problem } from './problem.js';
import type { Routes } from './routes.js';

/** Longer than a notification of the largest request. */
const MOST_BYTES = 1024 * 1024;

/** Where a proxy that strips the public path may hand notifications on. */
const SHORT_PATH = '/callbacks';

/**
 * Where the service's notifications come in: below the path of `CALLBACK_URL`, and below `/callbacks`. No key opens
 * them; the secret part of the address and the security token do. Nothing is there while `CALLBACK_URL` is not set.
 */
export const callbacks: Routes = (app, { volley }) => {
  const inside = volley.notifications.receiver();
  if (inside === null) return;
  // Whatever the body is said to be, even what is no type at all, it is read as text here and judged where its token is.
  app.addHook<{ Params: { segment: string } }>('onRequest', async (request) => {
    const { raw, params } = request;
    delete raw.headers['content-type'];
    // Before the body of somebody is read who knows no address.
    if (!inside.isAddress(params.segment)) throw nothingHere(request);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: MOST_BYTES }, (_request, body, done) => {
    done(null, body);
  });
  const schema = { hide: true };
  for (const path of new Set([patternOf(inside.path), SHORT_PATH])) {
    app.post<{ Params: { segment: string } }>(`${path}/:segment`, { schema }, async (request, reply) => {
      const { headers, params, body, url } = request;
      const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
      const text = typeof body === 'string' ? body : '';
      const received = inside.receive(params.segment, { headers, query, body: text });
      judge(received, request);
      return reply.code(204).send();
    });
    // A service may try the address before it takes it.
    app.route({
      method: ['GET', 'HEAD'],
      url: `${path}/:segment`,
      schema,
      handler: async (_request, reply) => reply.code(204).send(),
    });
  }
};

/** The path as the router knows it: it compares addresses decoded, and takes a colon for the name of a part. */
function patternOf(path: string): string {
  try {
    return decodeURI(path).replaceAll(':', '::');
  } catch {
    // Nothing can be asked for at an address that cannot be decoded; the short one is left.
    return SHORT_PATH;
  }
}

/** Throws for what was not taken. The service does not send it again, whatever it is answered. */
function judge(received: ReceiveOutcome, request: { readonly method: string }): void {
  switch (received) {
    case 'accepted':
      return;
    case 'noSuchAddress':
      throw nothingHere(request);
    case 'forged':
      throw new Problem('unauthorised', 'the notification does not carry the security token');
    case 'unreadable':
      throw new Problem('badInput', 'the body holds no delivery information');
    case 'full':
      throw new Problem('unavailable', 'too many notifications wait to be settled');
    default:
      received satisfies never;
  }
}
