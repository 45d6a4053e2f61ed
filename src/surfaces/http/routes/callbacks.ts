import { callbackPath, type ReceiveOutcome } from '../../../engine/notifications/receiver.js';
import type { Routes } from '../route.js';
import { noRoute, Problem } from '../server/problem.js';

/** More than a notification about the largest request, of 1,000 recipients. A longer one could take long to parse. */
const MAX_BODY_BYTES = 256 * 1024;

/** The method of a notification is not shown (interface page, Events, rule 4). */
const NOTIFYING = ['POST', 'PUT', 'PATCH'] as const;

/** For a proxy that strips the public path. */
const SHORT_PATH = '/callbacks';

/**
 * Receives the service's notifications, and the messages of people, below the path of `CALLBACK_URL` and below `/callbacks`. These routes require no API
 * key, but the secret segment of the address and the security token. Without `CALLBACK_URL` they do not exist.
 */
export const callbacks: Routes = (app, { volley, config: { callback } }) => {
  if (callback === undefined) return;
  const { notifications, inbound } = volley;
  // Opens it now: other processes may have left reports waiting. If Redis is away, the first notification opens it.
  notifications.receiver().catch(() => {});
  app.addHook<{ Params: { segment: string } }>('onRequest', async (request) => {
    const { raw, params } = request;
    // The body is read as text whatever its content type is, even an invalid one: the receiver parses it.
    delete raw.headers['content-type'];
    // Checked before the body is read, so the body of a client without the secret address never is.
    const receivers = await Promise.all([notifications.receiver(), inbound.receiver()]);
    if (!receivers.some((receiver) => receiver?.isAddress(params.segment))) throw noRoute(request);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: MAX_BODY_BYTES }, (_request, body, done) => {
    done(null, body);
  });
  const [schema, config] = [{ hide: true }, { isSecret: true }];
  for (const path of new Set([routePattern(callbackPath(callback)), SHORT_PATH])) {
    app.route<{ Params: { segment: string } }>({
      method: [...NOTIFYING],
      url: `${path}/:segment`,
      schema,
      config,
      handler: async (request, reply) => {
        const { headers, params, body, url } = request;
        const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
        const text = typeof body === 'string' ? body : '';
        const messages = await inbound.receiver();
        if (messages?.isAddress(params.segment)) {
          // The service repeats a message until it gets a success, so this waits until Redis has stored it.
          requireAccepted(await messages.receive(params.segment, { headers, body: text }), request);
          return reply.code(204).send();
        }
        const receiver = await notifications.receiver();
        const outcome = receiver?.receive(params.segment, { headers, query, body: text }) ?? 'noSuchAddress';
        requireAccepted(outcome, request);
        return reply.code(204).send();
      },
    });
    // A service may probe the address before it accepts a subscription.
    app.route({
      method: ['GET', 'HEAD'],
      url: `${path}/:segment`,
      schema,
      config,
      handler: async (_request, reply) => reply.code(204).send(),
    });
  }
};

/** The path as a route pattern: the router compares decoded addresses, and a colon begins a parameter. */
function routePattern(path: string): string {
  try {
    return decodeURI(path).replaceAll(':', '::');
  } catch {
    // No request can match a path that cannot be decoded.
    return SHORT_PATH;
  }
}

/** Throws for a notification that was not accepted. The service does not send a delivery report again, whatever the response is. */
function requireAccepted(outcome: ReceiveOutcome, request: { readonly method: string }): void {
  switch (outcome) {
    case 'accepted':
      return;
    case 'noSuchAddress':
      throw noRoute(request);
    case 'forged':
      throw new Problem('unauthorised', 'The notification does not contain the security token.');
    case 'unreadable':
      throw new Problem('badInput', 'The body contains neither delivery information nor a message.');
    case 'full':
      throw new Problem('unavailable', 'Too many notifications are waiting to be settled.');
    default:
      outcome satisfies never;
  }
}
