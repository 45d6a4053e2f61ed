/*
 * Shared by the process that reads a workbook and by the one that waits for it.
 */

/** Bytes at most that are unpacked of it, and that its rows take as text. */
export const MAX_UNPACKED_BYTES = 300_000_000;
/** Rows of a sheet at most, without empty ones. */
export const MAX_SHEET_ROWS = 200_000;
/** How long reading may take, ms. */
export const MAX_MS = 60_000;
/** The heap of the process that reads, MB. Texts that cells share take most of it. */
export const HEAP_MB = 512;

/** What to do with a workbook beyond a limit. */
export const SAVE_AS_CSV = 'In Excel, save it as "CSV UTF-8"';

/** Which part of a workbook is the list. */
export interface SheetChoice {
  /** The name of the sheet; default: the first one that is not hidden. */
  readonly sheet?: string | undefined;
  /** The line of the header; default: the first line that is not empty. */
  readonly headerLine?: number | undefined;
}

/** A row: its line in the sheet, its fields, and why some cannot be used, by their positions. */
export type SheetRow = readonly [
  line: number,
  fields: readonly string[],
  unusable?: readonly [number, string][],
];

/** What the process that reads says at its end: the sheet, or what is wrong with the file, in sentences for people. */
export type Conversion =
  | {
      readonly sheet: string;
      /** All sheets that are not hidden, and the one that was read. */
      readonly sheets: readonly string[];
      readonly warnings: readonly string[];
    }
  | { readonly problem: string };

/** The file is not a workbook that can be read; the message is for people. */
export class WorkbookError extends Error {
  override readonly name = 'WorkbookError';
}
