import { call, commandOf, type Input, type Name, type Output } from './api.js';

const PAGE = 100;

/** Reads pages of an operation, or all of it if it has none: those filters of the address count that it has as fields. */
export function pagesOf<Op extends Name, Row>(operation: Op, rowsOf: (output: Output<Op>) => readonly Row[]) {
  return async (filters: Readonly<Record<string, string>>, signal: AbortSignal) => {
    const { fields } = commandOf(operation);
    const given = Object.entries({ limit: String(PAGE), ...filters }).flatMap(([name, value]) => {
      const field = fields[name];
      return field === undefined || value === '' ? [] : [[name, field.type === 'array' ? [value] : value]];
    });
    const output = await call(operation, Object.fromEntries(given) as Input<Op>, { signal });
    const { nextCursor = null } = output as { nextCursor?: string | null };
    return { rows: rowsOf(output), nextCursor };
  };
}
