import type { FastifyInstance } from 'fastify';
import { createHttp } from './app.js';
import type { HttpOptions } from './route.js';

/**
 * The HTTP API as a plugin of a Fastify app of yours: `app.register(volleyHttp, { volley, config, prefix: '/sms' })`. It answers everything
 * below the prefix, with its own checks, limits, and errors; the hooks of your app run before it. It ends with your app.
 */
export async function volleyHttp(
  host: FastifyInstance,
  { prefix: _own, ...options }: Omit<HttpOptions, 'mountedAt'> & { readonly prefix?: string | undefined },
): Promise<void> {
  // With that of the scope in which it is registered.
  const { prefix } = host;
  const api = createHttp({ ...options, mountedAt: prefix });
  await api.ready();
  // The API reads the body itself.
  host.removeAllContentTypeParsers();
  host.addContentTypeParser('*', (_request, _payload, done) => done(null));
  host.all('/*', (request, reply) => {
    reply.hijack();
    const { raw } = request;
    raw.url = (raw.url ?? '').slice(prefix.length) || '/';
    api.routing(raw, reply.raw);
  });
  // Streams end before the server waits for them.
  host.addHook('preClose', () => api.close());
}
