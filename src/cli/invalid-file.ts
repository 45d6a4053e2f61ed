import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { stringify } from 'csv-stringify/sync';
import type { InvalidRow } from '../campaign/views.js';
import { spreadsheetSafe } from '../reporting/report-file.js';

/** The file for the invalid rows of a list. It is created with the first of them. */
export type InvalidFile = ReturnType<typeof invalidFile>;

const CHUNK_BYTES = 64 * 1024;

/**
 * `list.invalid.csv` beside `list.csv`, or `list.invalid-2.csv` if that exists: nothing is ever overwritten. Line, column,
 * and reason come before the row's own fields, so that a row with too few or too many fields cannot shift them. Once the
 * rows are fixed, the file can be sent as it is.
 */
export function invalidFile(list: string, columns: readonly string[]) {
  const stem = list.replace(/\.csv$/i, '');
  let file: { path: string; descriptor: number } | undefined;
  let rows = 0;
  let chunk = '';
  const flush = (): void => {
    if (file !== undefined && chunk !== '') writeSync(file.descriptor, chunk);
    chunk = '';
  };
  /** Closes the file. Undefined if there was no invalid row. */
  const end = (): { path: string; rows: number } | undefined => {
    if (file === undefined) return undefined;
    flush();
    closeSync(file.descriptor);
    const { path } = file;
    file = undefined;
    return { path, rows };
  };
  return {
    add({ line, column, reason, row }: InvalidRow): void {
      if (file === undefined) {
        file = create(stem);
        chunk += stringify([[...newColumns(columns), ...columns]]);
      }
      chunk += stringify([[String(line), column ?? '', spreadsheetSafe(reason), ...row]]);
      rows += 1;
      if (chunk.length > CHUNK_BYTES) flush();
    },
    end,
    /** Deletes the file, because no campaign was created. */
    discard(): void {
      const ended = end();
      if (ended !== undefined) unlinkSync(ended.path);
    },
  };
}

/** Names for our columns that the list does not use, so that the file can be read as a list again. */
function newColumns(columns: readonly string[]): string[] {
  return ['line', 'column', 'reason'].map((name) => {
    let free = name;
    while (columns.includes(free)) free = `invalid ${free}`;
    return free;
  });
}

function create(stem: string): { path: string; descriptor: number } {
  for (let count = 1; ; count += 1) {
    const path = `${stem}.invalid${count === 1 ? '' : `-${count}`}.csv`;
    try {
      return { path, descriptor: openSync(path, 'wx') };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
}
