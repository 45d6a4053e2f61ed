import { z } from 'zod';
import { Problem } from './problem.js';
import { jsonResponse, problemResponses, type Routes } from './routes.js';

/** Longer than a slow response, shorter than the usual timeout of a health check. */
const PING_WITHIN_MS = 2_000;

const ok = z.object({ status: z.literal('ok') });

/** The health checks. They require no key and reveal nothing else. */
export const health: Routes = (app, { volley }) => {
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
        description: 'Returns 503 if Redis does not respond within two seconds.',
        tags: ['Operation'],
        security: [],
        response: { 200: jsonResponse('Redis responds', ok), ...problemResponses('unavailable') },
      },
    },
    async () => {
      try {
        await volley.ping(PING_WITHIN_MS);
      } catch {
        throw new Problem('unavailable', 'Redis does not respond.', { headers: { 'retry-after': '2' } });
      }
      return { status: 'ok' as const };
    },
  );
};
