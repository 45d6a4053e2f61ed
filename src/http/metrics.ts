import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createMetrics } from '../metrics/index.js';
import { keyOf, mustSeeAll } from './access.js';
import { onceOver } from './on-close.js';
import type { HttpOptions, Routes } from './routes.js';

/**
 * Counts the requests of the whole app, whoever registers their routes. Returns the route at which Prometheus asks for
 * it, and for the fleet; docs/metrics.md is the catalogue.
 */
export function measured(whole: FastifyInstance, { volley, config }: HttpOptions): Routes {
  const metrics = createMetrics({ volley, lanes: config.lanes.map(({ name }) => name), role: 'http' });
  const begin = metrics.http();
  whole.addHook('onClose', async () => metrics.close());
  whole.addHook('onRequest', async (request, reply) => {
    const { method, routeOptions } = request;
    const end = begin({ method, route: routeOptions.url ?? 'none' });
    const began = performance.now();
    // Unlike an answer, this comes also where whoever asked has gone.
    onceOver(request, reply, () => {
      end(reply.raw.headersSent ? reply.raw.statusCode : 'none', performance.now() - began);
    });
  });
  return (app) => {
    app.get(
      '/metrics',
      {
        config: { scope: 'read' },
        schema: {
          operationId: 'getMetrics',
          summary: 'Metrics for Prometheus',
          description: 'In its text format. How the fleet stands is asked of Redis at each call.',
          tags: ['Operation'],
          response: {
            200: { description: 'The metrics', content: { 'text/plain': { schema: z.string() } } },
          },
        },
      },
      async (request, reply) => {
        mustSeeAll(keyOf(request), 'what is counted');
        const parts = await Promise.all([metrics.fleet(), metrics.process()]);
        return reply.type(metrics.contentType).send(`${parts.join('\n')}\n`);
      },
    );
  };
}
