import { call, commandOf, type Input, type Name, type Output } from './api.js';

/** A list of the API that is read in pages. */
type Paged = { [Op in Name]: Output<Op> extends { nextCursor: string | null } ? Op : never }[Name];

/** Reads pages of an operation: those filters of the address count that it has as fields. */
export function pagesOf<Op extends Paged, Row>(
  operation: Op,
  rowsOf: (output: Output<Op>) => readonly Row[],
) {
  return async (filters: Readonly<Record<string, string>>, signal: AbortSignal) => {
    const { fields } = commandOf(operation);
    const given = Object.entries(filters).flatMap(([name, value]) => {
      const field = fields[name];
      return field === undefined || value === '' ? [] : [[name, field.type === 'array' ? [value] : value]];
    });
    const output = await call(operation, { limit: 100, ...Object.fromEntries(given) } as Input<Op>, {
      signal,
    });
    return { rows: rowsOf(output), nextCursor: (output as { nextCursor: string | null }).nextCursor };
  };
}
