import { SEPARATORS, separatorIn } from '../../../campaign/text/separators.js';
import { excelCell } from '../../../campaign/text/spreadsheet.js';

/** The separator that the Excel of this reader expects. */
export const SEPARATOR = separatorIn(new Intl.NumberFormat(globalThis.navigator?.language));

/** A record as a line of CSV. */
export const csvLine = (fields: readonly string[], separator = ','): string =>
  `${fields.map((field) => (/[",;\t\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(separator)}\r\n`;

/** A record as the Excel of this reader shows it: numbers keep their plus, and no text of others is run as a formula. */
export const excelLine = (fields: readonly string[]): string =>
  csvLine(fields.map(excelCell), SEPARATORS[SEPARATOR]);

/** Saves lines of CSV as a file. */
export function saveFile(name: string, lines: readonly string[]): void {
  // Excel takes a file for UTF-8 because of its byte order mark.
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(['\ufeff', ...lines], { type: 'text/csv' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
