import { setImmediate as nextTick } from 'node:timers/promises';
import type { FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { invalidMember, type Problem } from './problem.js';

/** Members that an item of a list may have. Each becomes a column, for which every other row has a field. */
export const MAX_MEMBERS = 200;

/** A validation error takes a hundred times the memory of the item that it is about. */
const ITEMS_AT_A_TIME = 1_000;

/**
 * Validates each part of a request by the schema of its route. It validates a long list in a body piece by piece and stops
 * at the first piece with an error: a million invalid items must not fill the memory with a million errors. Other work of the
 * process runs between the pieces.
 */
export const validateByZod: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const validate = (part: unknown): { value: unknown } | { error: Error } => {
    const { data, error } = schema.safeParse(part, { error: plainMessage });
    return error === undefined ? { value: data } : { error };
  };
  if (httpPart !== 'body') return validate;
  return (body: unknown) => {
    const lists = listsOf(body);
    const [long, ...others] = lists.filter(([, items]) => items.length > ITEMS_AT_A_TIME);
    if (long === undefined) {
      for (const [name, items] of lists) {
        const error = tooManyMembers(name, items, 0);
        if (error !== undefined) return { error };
      }
      return validate(body);
    }
    // No schema has two lists, so the first piece reports any other one as unrecognised.
    const rest = Object.fromEntries(others.map(([other]) => [other, []]));
    const validated = validateInPieces(schema, Object(body), long, rest);
    // The mark that Fastify's types require of a promise.
    return Object.assign(validated, { __linterBrands: 'SafePromiseLike' as const });
  };
};

/** Replaces the body in place by what its schema makes of it: Fastify ignores the value that a promise resolves with. */
async function validateInPieces(
  schema: z.ZodType,
  body: object,
  [name, items]: readonly [string, unknown[]],
  rest: object,
): Promise<void> {
  let whole: object = {};
  for (let from = 0; from < items.length; from += ITEMS_AT_A_TIME) {
    const piece = items.slice(from, from + ITEMS_AT_A_TIME);
    const tooMany = tooManyMembers(name, piece, from);
    if (tooMany !== undefined) throw tooMany;
    const { data, error } = schema.safeParse(Object.assign({}, body, rest, { [name]: piece }), {
      error: plainMessage,
    });
    if (error !== undefined) throw shifted(error, name, from);
    whole = Object(data);
    for (const [, parsed] of listsOf(data)) items.splice(from, parsed.length, ...parsed);
    await nextTick();
  }
  Object.assign(body, whole, { [name]: items });
}

function listsOf(body: unknown): (readonly [string, unknown[]])[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) => (Array.isArray(value) ? [[name, value]] : []));
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

function tooManyMembers(name: string, items: readonly unknown[], from: number): Problem | undefined {
  const at = items.findIndex(
    (item) => typeof item === 'object' && item !== null && Object.keys(item).length > MAX_MEMBERS,
  );
  if (at === -1) return undefined;
  return invalidMember(`${name}/${from + at}`, `It has more than ${MAX_MEMBERS} members`);
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: '`true` or `false`',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

/** Says what is wrong with a value, without its name. A message of the schema itself comes first. */
export const plainMessage: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'It is missing';
      return `It must be ${TYPES[issue.expected] ?? `of the type ${issue.expected}`}`;
    case 'invalid_value': {
      if (issue.input === undefined) return 'It is missing';
      const [only, ...others] = issue.values.map(String);
      return others.length === 0 ? `It must be ${only}` : `It must be one of ${[only, ...others].join(', ')}`;
    }
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') return 'It is empty';
      return `It must be at least ${issue.minimum}`;
    case 'too_big':
      if (issue.origin === 'string') return `It has more than ${issue.maximum} characters`;
      if (issue.origin === 'array') return `It has more than ${issue.maximum} items`;
      return `It must be at most ${issue.maximum}`;
    case 'invalid_format':
      return issue.format === 'date' ? 'Use a date such as 2030-05-01' : undefined;
    case 'unrecognized_keys':
      return 'It is unknown';
    default:
      return undefined;
  }
};
