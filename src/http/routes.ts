import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Clock } from '../clock.js';
import type { Config, LocalConfig } from '../config/index.js';
import type { Volley } from '../volley.js';

/** What the doors of the house are hung on. Whoever makes it closes both: first this, then the Volley. */
export interface HttpOptions {
  readonly volley: Volley;
  readonly config: Config | LocalConfig;
  /** Tests pass their own. */
  readonly clock?: Clock | undefined;
  /** How long whoever was answered may go on sending, ms; tests shorten it. */
  readonly lingerMs?: number | undefined;
  /** How long somebody may take nothing in of what he is answered, ms, before he is let go; tests shorten it. */
  readonly patienceMs?: number | undefined;
  /** How long a request may still come in when the app closes, ms; tests shorten it. */
  readonly closeGraceMs?: number | undefined;
  /** Streams of events at once; tests take fewer. */
  readonly mostStreams?: number | undefined;
}

/** A room of the app: registers its routes on it. */
export type Routes = (app: ReturnType<typeof typed>, options: HttpOptions) => void;

/** The app as its routes see it, with schemas of zod. */
export const typed = (app: FastifyInstance) => app.withTypeProvider<ZodTypeProvider>();
