import { fromSpreadsheetSafe } from '../../../campaign/spreadsheet.js';

/** What the file of a list's invalid rows says about each of them, before the row's own fields. */
const NAMES = ['line', 'column', 'reason'] as const;

/** Names for these columns that the list does not use, so that the file can be read as a list again. */
export function invalidRowColumns(columns: readonly string[]): string[] {
  return NAMES.map((name) => {
    let free: string = name;
    while (columns.includes(free)) free = `invalid ${free}`;
    return free;
  });
}

/**
 * How to read the fields of a list with these columns: as they are, or without the apostrophes that make the file of a list's
 * invalid rows safe in a spreadsheet.
 */
export function fieldReader(columns: readonly string[]): ((field: string) => string) | undefined {
  const isInvalidFile = NAMES.every((name, at) => columns[at]?.replace(/^(?:invalid )+/, '') === name);
  return isInvalidFile ? fromSpreadsheetSafe : undefined;
}
