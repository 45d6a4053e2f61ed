import type { z } from 'zod';
import { problemBody } from './problem.js';
import { PROBLEMS, type ProblemCode } from './problem-kinds.js';

/*
 * The answers of a route as the document describes them.
 */

/** An answer in JSON, and in words. */
export function answered<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

interface Refused {
  readonly description: string;
  readonly content: { readonly 'application/problem+json': { readonly schema: typeof problemBody } };
}

/** Refusals by their status; one status may stand for several. */
export function refused(...codes: readonly ProblemCode[]): Record<number, Refused> {
  const content = { 'application/problem+json': { schema: problemBody } };
  const own = PROBLEMS.filter(({ code }) => codes.includes(code));
  return Object.fromEntries(
    own.map(({ status }) => {
      const same = own.filter((one) => one.status === status);
      return [
        status,
        { description: same.map(({ code, title }) => `\`${code}\`: ${title}`).join('; '), content },
      ];
    }),
  );
}
