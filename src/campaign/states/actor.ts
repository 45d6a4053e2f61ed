import { z } from 'zod';
import type { SomeLimits } from './limit-values.js';

/** Who performs an operation. Events, logs, campaigns, and the audit trail name the actor. */
export interface Actor {
  /** `key`: a client of the HTTP API; `cli`: the command line; `library`: a program; `schedule`: a schedule that was due. */
  readonly kind: 'key' | 'cli' | 'library' | 'schedule';
  /** Of the API key or the schedule; null for other kinds. */
  readonly id: string | null;
  /** Of the key or the schedule; the user and host of the command line; or what the program calls itself. */
  readonly name: string;
}

/** See {@link Actor}. */
export const actor = z
  .object({
    kind: z
      .enum(['key', 'cli', 'library', 'schedule'])
      .describe(
        '`key`: a client of the HTTP API; `cli`: the command line; `library`: a program; `schedule`: a schedule that was due',
      ),
    id: z.string().nullable().describe('The id of the API key or the schedule; null for other kinds'),
    name: z
      .string()
      .describe(
        'The name of the key or the schedule, the user and host of the command line, or what the program calls itself',
      ),
  })
  .readonly()
  .meta({ id: 'Actor' });
/** An actor that acts now, the only lanes that it may use (null or undefined: all), and what else limits it. */
export type ActingFor = Actor & {
  readonly lanes?: readonly string[] | null | undefined;
  readonly limits?: SomeLimits | undefined;
};

/** An actor in one line, such as `key 0123456789ab (shop)` or `cli anna@mail-1`. */
export function describeActor({ kind, id, name }: Actor): string {
  return id === null ? `${kind} ${name}` : `${kind} ${id} (${name})`;
}
