import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createMetrics } from '../metrics/index.js';
import { apiKeyOf, requireAllLanes } from './access.js';
import { onClose } from './connections.js';
import type { HttpOptions, Routes } from './routes.js';

/**
 * Measures every request of the app, and returns the route from which Prometheus scrapes these metrics and those of the
 * fleet; docs/metrics.md lists them.
 */
export function measureRequests(app: FastifyInstance, { volley, config }: HttpOptions): Routes {
  const metrics = createMetrics({ volley, lanes: config.lanes.map(({ name }) => name), role: 'http' });
  const beginRequest = metrics.http();
  app.addHook('onClose', async () => metrics.close());
  app.addHook('onRequest', async (request, reply) => {
    const { method, routeOptions } = request;
    const endRequest = beginRequest({ method, route: routeOptions.url ?? 'none' });
    const startedAt = performance.now();
    // Unlike `onResponse`, this also runs if the client disconnects.
    onClose(request, reply, () => {
      const status = reply.raw.headersSent ? reply.raw.statusCode : 'none';
      endRequest(status, performance.now() - startedAt);
    });
  });
  return (scope) => {
    scope.get(
      '/metrics',
      {
        config: { scope: 'read' },
        schema: {
          operationId: 'getMetrics',
          summary: 'Get metrics for Prometheus',
          description:
            'In the Prometheus text format. Each request reads the state of the fleet from Redis. The metrics cover all lanes, so the key must not be limited to lanes.',
          tags: ['Operation'],
          response: {
            200: { description: 'The metrics', content: { 'text/plain': { schema: z.string() } } },
          },
        },
      },
      async (request, reply) => {
        requireAllLanes(apiKeyOf(request), 'Metrics');
        const parts = await Promise.all([metrics.fleet(), metrics.process()]);
        return reply.type(metrics.contentType).send(`${parts.join('\n')}\n`);
      },
    );
  };
}
