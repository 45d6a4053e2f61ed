import { call, commandOf, type Input, type Name, type Output } from './api.js';

export const PAGE = 100;
/** How many parts of a long list are read for one page: with a filter, a part may have few rows. */
const READS = 20;

/** A row of what an operation lists: its output has one list. */
export type RowOf<Op extends Name> = Extract<Output<Op>[keyof Output<Op>], readonly object[]>[number];

/** The names of columns, which some outputs have besides, are no rows. */
const isList = (value: unknown): value is never[] => Array.isArray(value) && typeof value[0] !== 'string';

/** A page of a list, and where the next one begins. */
export interface LoadedPage<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

/**
 * Reads a page of an operation, or all of it if it has none: those filters of the address count that it has as fields. `fixed`: what is not in
 * the address.
 */
export async function readPage<Op extends Name>(
  operation: Op,
  filters: Readonly<Record<string, string>>,
  fixed: Partial<Input<Op>>,
  signal: AbortSignal,
): Promise<LoadedPage<RowOf<Op>>> {
  const { fields } = commandOf(operation);
  const given = Object.entries(filters).flatMap(([name, value]) => {
    const field = fields[name];
    return field === undefined || value === '' ? [] : [[name, field.type === 'array' ? [value] : value]];
  });
  const rows: RowOf<Op>[] = [];
  let cursor: object = {};
  for (let reads = 1; ; reads++) {
    const limit = fields['limit'] && { limit: String(PAGE - rows.length) };
    const input = { ...fixed, ...Object.fromEntries(given), ...limit, ...cursor } as Input<Op>;
    const output = (await call(operation, input, { signal })) as { readonly nextCursor?: string | null };
    const { nextCursor = null } = output;
    rows.push(...Object.values<unknown>(output).filter(isList).flat());
    if (nextCursor === null || rows.length >= PAGE || reads === READS) return { rows, nextCursor };
    cursor = { cursor: nextCursor };
  }
}
