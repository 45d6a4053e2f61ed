import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Volley } from '../../app/volley.js';
import type { Clock } from '../../base/clock.js';
import type { Config, LocalConfig } from '../../base/config/index.js';
import { durationOption } from '../../base/duration.js';
import type { ProblemCode } from '../../campaign/errors/error-codes.js';
import type { BodyRate } from './limits/body-rate.js';
import type { ListMemory } from './limits/list-memory.js';
import { PROBLEMS, problemBody } from './server/problem.js';

/** What the HTTP API needs. The caller closes both, first the app and then the Volley. */
export interface HttpOptions {
  readonly volley: Volley;
  readonly config: Config | LocalConfig;
  /** Whether this process is about to close: `/readyz` then answers 503, and everything else is served as usual. */
  readonly isLeaving?: (() => boolean) | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
  /** How long the rest of a body is read after the response; default `30s`. */
  readonly linger?: string | undefined;
  /** A client that reads nothing of its response for this long is disconnected; default `60s`. */
  readonly stallTimeout?: string | undefined;
  /** How long an incomplete request may continue after the app begins to close; default `5s`. */
  readonly closeGrace?: string | undefined;
  /** How slowly a body may arrive; default: 10 kB a second, over 10 s. */
  readonly bodyRate?: BodyRate | undefined;
  /** Connections of one key with requests in progress; default 500. */
  readonly maxConnectionsPerKey?: number | undefined;
  /** Event streams of the process at a time; default 5,000. */
  readonly maxStreams?: number | undefined;
  /** The built page of the console; default: that of this package. */
  readonly consoleFolder?: string | undefined;
  /** Downloads of call records of one key at a time, waiting or open; default 50. */
  readonly maxDownloadsPerKey?: number | undefined;
  /** The path, such as `/sms`, that a proxy in front removes from addresses; those in responses, documents, and pages begin with it. */
  readonly mountedAt?: string | undefined;
}

/** `stallTimeout` in ms. */
export const stallTimeoutOf = ({ stallTimeout }: HttpOptions): number =>
  durationOption('stallTimeout', stallTimeout, 60_000);

/** Registers the routes of a resource. `memory`: for lists that they read. */
export type Routes = (app: ReturnType<typeof withZod>, options: HttpOptions, memory: ListMemory) => void;

/** The app as routes use it: their schemas are zod's. */
export const withZod = (app: FastifyInstance) => app.withTypeProvider<ZodTypeProvider>();

/** A number of things. */
export const count = z.int().min(0);

/** Describes a JSON response for the OpenAPI document. */
export function jsonResponse<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

interface ProblemResponse {
  readonly description: string;
  readonly content: { readonly 'application/problem+json': { readonly schema: typeof problemBody } };
}

/** Describes error responses, by status. Several problems may share a status. */
export function problemResponses(...codes: readonly ProblemCode[]): Record<number, ProblemResponse> {
  const content = { 'application/problem+json': { schema: problemBody } };
  const described = PROBLEMS.filter(({ code }) => codes.includes(code));
  return Object.fromEntries(
    described.map(({ status }) => {
      const same = described.filter((problem) => problem.status === status);
      const description = same.map(({ code, title }) => `\`${code}\`: ${title}`).join('; ');
      return [status, { description, content }];
    }),
  );
}
