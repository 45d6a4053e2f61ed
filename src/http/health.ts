import { z } from 'zod';
import { Problem } from './problem.js';
import { answered, refused } from './responses.js';
import type { Routes } from './routes.js';

/** Longer than a slow answer, shorter than whoever asks is patient. */
const REDIS_ANSWERS_WITHIN_MS = 2_000;

const fine = z.object({ status: z.literal('ok') });

/** Whether the process lives, and whether it is of any use now. Both need no key, and tell nothing else. */
export const health: Routes = (app, { volley }) => {
  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'isAlive',
        summary: 'Whether the process lives',
        description: 'Says nothing of Redis: a process that cannot reach it is not mended by ending it.',
        tags: ['Operation'],
        security: [],
        response: { 200: answered('It lives', fine) },
      },
    },
    async () => ({ status: 'ok' as const }),
  );
  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'isReady',
        summary: 'Whether requests can be served',
        description: 'Asks Redis. 503 while it does not answer within two seconds.',
        tags: ['Operation'],
        security: [],
        response: { 200: answered('Redis answers', fine), ...refused('unavailable') },
      },
    },
    async () => {
      try {
        await volley.ping(REDIS_ANSWERS_WITHIN_MS);
      } catch {
        throw new Problem('unavailable', 'Redis does not answer', { headers: { 'retry-after': '2' } });
      }
      return { status: 'ok' as const };
    },
  );
};
