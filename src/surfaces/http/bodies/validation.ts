import { setImmediate as nextTick } from 'node:timers/promises';
import type { FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { plainMessage } from '../../../campaign/fields/input.js';

/** A validation error takes a hundred times the memory of the value that it is about. */
const VALUES_AT_A_TIME = 1_000;

/**
 * Validates each part of a request by the schema of its route. It validates the list of a body, which is the only long one, piece by piece and
 * stops at the first piece with an error: many invalid items must not fill the memory with as many errors. Other work of the process runs
 * between the pieces.
 */
export const validateByZod: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const validate = (part: unknown): { value: unknown } | { error: Error } => {
    const { data, error } = schema.safeParse(part, { error: plainMessage });
    return error === undefined ? { value: data } : { error };
  };
  if (httpPart !== 'body') return validate;
  // A body whose members may all be missing may be missing itself.
  const absent = schema.safeParse({}).success ? {} : null;
  return (given: unknown) => {
    const body = given ?? absent;
    const list = longListOf(body);
    if (list === undefined) return validate(body);
    // The mark that Fastify's types require of a promise.
    const validated = validateInPieces(schema, Object(body), list);
    return Object.assign(validated, { __linterBrands: 'SafePromiseLike' as const });
  };
};

/** Replaces the body in place by what its schema makes of it: Fastify ignores the value that a promise resolves with. */
async function validateInPieces(
  schema: z.ZodType,
  body: object,
  [name, list]: readonly [string, unknown[]],
): Promise<void> {
  let whole: object = {};
  for (let from = 0; from < list.length; ) {
    const to = endOfPiece(list, from);
    const piece = { ...body, [name]: list.slice(from, to) };
    const { data, error } = schema.safeParse(piece, { error: plainMessage });
    if (error !== undefined) throw shifted(error, name, from);
    whole = Object(data);
    const parsed: unknown = Object.getOwnPropertyDescriptor(whole, name)?.value;
    if (Array.isArray(parsed)) for (const [at, item] of parsed.entries()) list[from + at] = item;
    from = to;
    await nextTick();
  }
  Object.assign(body, whole, { [name]: list });
}

/** The list of a body whose items have too many values to validate them together; no other list is long. */
function longListOf(body: unknown): readonly [string, unknown[]] | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  return Object.entries(body).find(
    ([, items]) => Array.isArray(items) && endOfPiece(items, 0) < items.length,
  );
}

/** The end of the piece of a list that begins at `from`: it has at least one item. */
function endOfPiece(items: readonly unknown[], from: number): number {
  let to = from;
  for (let values = 0; to < items.length && values < VALUES_AT_A_TIME; to += 1) {
    const item = items[to];
    values += typeof item === 'object' && item !== null ? 1 + Object.keys(item).length : 1;
  }
  return to;
}

/** The errors of a piece of the list `name`, with their places in the whole list. */
function shifted(error: z.ZodError, name: string, from: number): z.ZodError {
  return new z.ZodRealError(
    error.issues.map((issue) => {
      const [list, at, ...path] = issue.path;
      return list === name && typeof at === 'number' ? { ...issue, path: [list, from + at, ...path] } : issue;
    }),
  );
}
