import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { exactDuration } from '../../../base/duration.js';
import { requireAllLanes } from '../../../operations/access.js';
import { createMetrics } from '../../metrics/index.js';
import { apiKeyOf } from '../access/access.js';
import { type HttpOptions, jsonResponse, problemResponses, type Routes } from '../route.js';
import { onClose } from '../server/connections.js';
import { Problem } from '../server/problem.js';

/** Longer than a slow response, shorter than the usual timeout of a health check. */
const PING_WITHIN = '2s';

const ok = z.object({ status: z.literal('ok') });
const ready = ok.extend({
  warnings: z
    .array(z.string())
    .describe('What puts data at risk although requests are served, such as a Redis that may evict keys.'),
});

/** The health checks. They require no key and reveal nothing else. */
export const health: Routes = (app, { volley, isLeaving = () => false }) => {
  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'isAlive',
        summary: 'Check that the process is alive',
        description: 'Does not depend on Redis: restarting the process would not bring Redis back.',
        tags: ['Operation'],
        security: [],
        response: { 200: jsonResponse('The process is alive', ok) },
      },
    },
    async () => ({ status: 'ok' as const }),
  );
  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'isReady',
        summary: 'Check that the process can serve requests',
        description:
          'Returns 503 if Redis does not respond within two seconds, and after SIGTERM, two seconds before the process closes its listener.',
        tags: ['Operation'],
        security: [],
        response: {
          200: jsonResponse('Redis responds, and the process is not about to close', ready),
          ...problemResponses('unavailable'),
        },
      },
    },
    async () => {
      if (isLeaving())
        throw new Problem('unavailable', 'This process is shutting down.', {
          headers: { 'retry-after': '2' },
        });
      const { eviction } = await volley.ping(PING_WITHIN).catch(() => {
        throw new Problem('unavailable', 'Redis does not respond.', { headers: { 'retry-after': '2' } });
      });
      const evicts = `Redis deletes data when its memory is full (maxmemory-policy ${eviction}). Set maxmemory-policy noeviction.`;
      return { status: 'ok' as const, warnings: eviction === null ? [] : [evicts] };
    },
  );
};

/**
 * Measures every request of the app, and returns the route from which Prometheus scrapes these metrics and those of the
 * fleet; docs/metrics.md lists them.
 */
export function measureRequests(app: FastifyInstance, { volley, config }: HttpOptions): Routes {
  const metrics = createMetrics({ volley, lanes: () => config.lanes, role: 'http' });
  const beginRequest = metrics.http();
  app.addHook('onClose', async () => metrics.close());
  app.addHook('onRequest', async (request, reply) => {
    const { method, routeOptions } = request;
    const route = routeOptions.url ?? 'none';
    const endRequest = beginRequest({ method, route });
    const startedAt = performance.now();
    // Unlike `onResponse`, this also runs if the client disconnects.
    onClose(request, reply, () => {
      const status = reply.raw.headersSent ? reply.raw.statusCode : 'none';
      const tookMs = performance.now() - startedAt;
      endRequest(status, tookMs);
      volley.events.emit({
        type: 'http.answered',
        method,
        route,
        status: String(status),
        took: exactDuration(tookMs),
        xRequestId: request.id,
      });
    });
  });
  return (scope) => {
    scope.get(
      '/metrics',
      {
        config: { scope: 'metrics' },
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
