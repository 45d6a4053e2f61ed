import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { stringify } from 'csv-stringify/sync';
import type { InvalidRow } from '../campaign/views.js';
import { spreadsheetSafe } from '../reporting/report-file.js';

/** The file that takes the rows which cannot be sent to. It comes into being with the first of them. */
export interface InvalidFile {
  add(row: InvalidRow): void;
  /** Closes it. Undefined if there was no bad row. */
  end(): { path: string; rows: number } | undefined;
  /** Takes it away again, as nothing came of the campaign. */
  discard(): void;
}

const PIECE_BYTES = 64 * 1024;

/**
 * `list.invalid.csv` beside `list.csv`, or `list.invalid-2.csv` if that exists: nothing is ever overwritten. Line, column
 * and reason stand before the row as the list has it, where a row with too few or too many fields cannot shift them.
 * Once the rows are mended the file can be sent as it is.
 */
export function invalidFile(list: string, columns: readonly string[]): InvalidFile {
  const stem = list.replace(/\.csv$/i, '');
  let file: { path: string; descriptor: number } | undefined;
  let rows = 0;
  let piece = '';
  const flush = (): void => {
    if (file !== undefined && piece !== '') writeSync(file.descriptor, piece);
    piece = '';
  };
  const end = (): { path: string; rows: number } | undefined => {
    if (file === undefined) return undefined;
    flush();
    closeSync(file.descriptor);
    const { path } = file;
    file = undefined;
    return { path, rows };
  };
  return {
    add({ line, column, reason, row }) {
      if (file === undefined) {
        file = create(stem);
        piece += stringify([[...added(columns), ...columns]]);
      }
      piece += stringify([[String(line), column ?? '', spreadsheetSafe(reason), ...row]]);
      rows += 1;
      if (piece.length > PIECE_BYTES) flush();
    },
    end,
    discard() {
      const ended = end();
      if (ended !== undefined) unlinkSync(ended.path);
    },
  };
}

/** Names for our columns that the list does not have already, or the file could not be read as a list. */
function added(columns: readonly string[]): string[] {
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
