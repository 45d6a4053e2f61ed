import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { stringify } from 'csv-stringify/sync';
import { systemCode } from '../../../base/config/file-problem.js';
import { ownColumns } from '../../../campaign/lists/own-files.js';
import { spreadsheetSafe } from '../../../campaign/text/spreadsheet.js';
import type { InvalidRow } from '../../../campaign/views/list-views.js';
import { fileProblem, PRIVATE } from '../files/output-file.js';
import { withOptions } from '../output/option-names.js';

/** The file for the invalid rows of a list. It is created with the first of them. */
export type InvalidFile = ReturnType<typeof invalidFile>;

const CHUNK_BYTES = 64 * 1024;

/**
 * `list.invalid.csv` beside `list.csv`, or `list.invalid-2.csv` if that exists: nothing is ever overwritten. Line, column,
 * and reason come before the row's own fields, so that a row with too few or too many fields cannot shift them. What a
 * spreadsheet would run as a formula gets an apostrophe, which is removed when the file is read. So once the rows are fixed, the
 * file can be sent as it is.
 */
export function invalidFile(list: string) {
  const stem = list.replace(/\.(?:csv|xlsx)$/i, '');
  let file: { path: string; descriptor: number } | undefined;
  let rows = 0;
  let chunk = '';
  const flush = (): void => {
    if (file === undefined || chunk === '') return;
    try {
      writeSync(file.descriptor, chunk);
    } catch (error) {
      throw fileProblem(error, file.path);
    }
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
    add({ line, column, message, row }: InvalidRow, columns: readonly string[]): void {
      if (file === undefined) {
        file = create(stem);
        chunk += stringify([[...ownColumns('invalid', columns), ...columns].map(spreadsheetSafe)]);
      }
      chunk += stringify([[String(line), column ?? '', withOptions(message), ...row].map(spreadsheetSafe)]);
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

function create(stem: string): { path: string; descriptor: number } {
  for (let count = 1; ; count += 1) {
    const path = `${stem}.invalid${count === 1 ? '' : `-${count}`}.csv`;
    try {
      return { path, descriptor: openSync(path, 'wx', PRIVATE) };
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw fileProblem(error, path);
    }
  }
}
