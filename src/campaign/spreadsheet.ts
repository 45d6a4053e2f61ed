/*
 * Texts of others in CSV files that people open in a spreadsheet, which runs a text as a formula if it begins with one of these
 * characters (OWASP, CSV Injection).
 */

/** An apostrophe before such a text gets another one, so that removing one restores every text. */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const ESCAPED = /^''*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** Prefixes an apostrophe to a text that a spreadsheet would run as a formula. */
export function spreadsheetSafe(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** The text from which {@link spreadsheetSafe} made this one. */
export function fromSpreadsheetSafe(text: string): string {
  return ESCAPED.test(text) ? text.slice(1) : text;
}
