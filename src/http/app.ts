import Fastify, { type FastifyInstance } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Config, LocalConfig } from '../config.js';
import type { Volley } from '../pipeline/volley.js';
import { callbacks } from './callbacks.js';
import { health } from './health.js';
import { measured } from './metrics.js';
import { Problem, problemOf } from './problem.js';

/** What the doors of the house are hung on. Whoever makes it closes both: first this, then the Volley. */
export interface HttpOptions {
  readonly volley: Volley;
  readonly config: Config | LocalConfig;
}

/** The app, with schemas of zod. */
export type HttpApp = FastifyInstance;

/** A room of the app: registers its routes on it. */
export type Routes = (app: ReturnType<typeof typed>, options: HttpOptions) => void;

const typed = (app: FastifyInstance) => app.withTypeProvider<ZodTypeProvider>();

/** Plugins that make the app, in the order in which they are registered. */
const ROUTES: readonly Routes[] = [health, callbacks];

/**
 * Puts the HTTP API together; it listens when it is told to: `await (await createHttp(…)).listen({ host, port })`.
 * Every error is answered as `application/problem+json`. What nobody foresaw is told as `http.failed`, by the route's
 * pattern: addresses, headers and bodies hold numbers and keys, and are never logged.
 */
export function createHttp(options: HttpOptions): HttpApp {
  const { events } = options.volley;
  const app = Fastify({
    logger: false,
    // A body's members must not become those of its prototype; such a body is refused.
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    forceCloseConnections: true,
  });
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error);
    if (problem.code === 'failed') {
      const { method } = request;
      events.emit({ type: 'http.failed', method, route: request.routeOptions.url ?? 'no route', error });
    }
    return reply
      .code(problem.status)
      .headers(problem.headers)
      .type('application/problem+json')
      .serializer(JSON.stringify)
      .send(problem.toJSON());
  });
  app.setNotFoundHandler(() => {
    throw new Problem('notFound', 'There is nothing at this address; /docs lists what there is');
  });
  for (const routes of [...ROUTES, measured(app, options)])
    app.register(async (scope) => routes(typed(scope), options));
  return app;
}
