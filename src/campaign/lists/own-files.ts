import { fromExcelCell, fromSpreadsheetSafe } from '../text/spreadsheet.js';

/*
 * The files that Volley writes about a list, with the columns of the list behind those of the file. They are made for a spreadsheet, and
 * can be read as a list again: their first columns say which file it is.
 */

/** A file that Volley writes, by what prefixes a column whose name the list has as well. */
type OwnFile = 'invalid' | 'report';

/** The first columns of each file. */
const FIRST: Readonly<Record<OwnFile, readonly string[]>> = {
  invalid: ['line', 'column', 'reason'],
  report: ['number', 'status', 'reason'],
};

/** The names of a file's columns, each in a form that the list does not use. `more`: those that follow the first ones. */
export function ownColumns(
  file: OwnFile,
  columns: readonly string[],
  more: readonly string[] = [],
): string[] {
  return [...FIRST[file], ...more].map((name) => {
    let free = name;
    while (columns.includes(free)) free = `${file} ${free}`;
    return free;
  });
}

function isFile(file: OwnFile, columns: readonly string[]): boolean {
  const prefixes = new RegExp(`^(?:${file} )+`);
  return FIRST[file].every((name, at) => columns[at]?.replace(prefixes, '') === name);
}

/** How to read the fields of a list with these columns: undefined: as they are; otherwise without what makes them safe in a spreadsheet. */
export function fieldReader(columns: readonly string[]): ((field: string) => string) | undefined {
  if (isFile('invalid', columns)) return fromSpreadsheetSafe;
  return isFile('report', columns) ? fromExcelCell : undefined;
}

/** The column with the phone numbers of a report; undefined if it is another list. */
export function numberColumnOf(columns: readonly string[]): string | undefined {
  return isFile('report', columns) ? columns[0] : undefined;
}
