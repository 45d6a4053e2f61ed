import type { FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { Problem } from './problem.js';
import { inWords } from './wording.js';

/** Members that an item of a list may have: each is a column, of which every other item has a field. */
export const MOST_MEMBERS = 200;

/** A fault takes a hundred times the memory of what it is told of. */
const ITEMS_AT_ONCE = 1_000;

/** Reads what came in by a schema, or throws what is wrong with it, in words for whoever sent it. */
export function readBy<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  return z.parse(schema, given, { error: inWords });
}

/**
 * Validates by the schema of the route. Of a body with a long list it looks at one part after the other, and no further
 * than the first with a fault: whoever sends a million faults is told of some, and fills no memory with them.
 */
export const validator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const parse = (part: unknown): unknown => readBy(schema, part);
  return (given: unknown) => {
    try {
      return { value: httpPart === 'body' ? inParts(parse, given) : parse(given) };
    } catch (error) {
      if (error instanceof z.ZodError || error instanceof Problem) return { error };
      throw error;
    }
  };
};

/** The body as it is parsed. Throws what is wrong with it. */
function inParts(parse: (body: unknown) => unknown, body: unknown): unknown {
  const lists = listsOf(body);
  for (const [name, items] of lists) mustBeRoomy(name, items);
  const long = lists.filter(([, items]) => items.length > ITEMS_AT_ONCE);
  const cut = (from: number, end: number): object =>
    Object.assign({}, body, ...long.map(([name, items]) => ({ [name]: items.slice(from, end) })));
  if (long.length === 0) return parse(body);
  // No schema has two lists: what else is one is refused here.
  const parsed = parse(cut(0, ITEMS_AT_ONCE));
  const [name = '', all = []] = long[0] ?? [];
  const good: unknown[] = [];
  for (let from = 0; from < all.length; from += ITEMS_AT_ONCE) {
    const end = from + ITEMS_AT_ONCE;
    try {
      for (const [, items] of listsOf(parse(cut(from, end)))) good.push(...items);
    } catch {
      // Once more with all before it, so that each fault is told by its place in the whole.
      parse(cut(0, end));
    }
  }
  return Object.assign({}, parsed, { [name]: good });
}

function listsOf(body: unknown): (readonly [string, readonly unknown[]])[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) => (Array.isArray(value) ? [[name, value]] : []));
}

function mustBeRoomy(name: string, items: readonly unknown[]): void {
  const at = items.findIndex(
    (item) => typeof item === 'object' && item !== null && Object.keys(item).length > MOST_MEMBERS,
  );
  if (at === -1) return;
  const pointer = `/${name}/${at}`;
  const message = `has more than ${MOST_MEMBERS} members`;
  throw new Problem('badInput', `${pointer}: ${message}`, { errors: [{ pointer, message }] });
}
