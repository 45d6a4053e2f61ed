import { printable } from './visible-text.js';

/*
 * Texts of others in CSV files that people open in a spreadsheet, which runs a cell as a formula if it begins with one of these
 * characters (OWASP, CSV Injection). A cell may also begin in the middle of a field: where the spreadsheet takes another separator than
 * the file has, as an Excel of another country does, or after a line break.
 */

/** An apostrophe before such a text gets another one, so that removing one restores every text. */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const ESCAPED = /^''*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
/** The same in the middle of a text, after what may separate cells. */
const INNER_FORMULA = /([,;\t\r\n]"*)('*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
const INNER_ESCAPED = /([,;\t\r\n]"*)'('*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/**
 * Prefixes an apostrophe to a text, or to a part of it, that a spreadsheet would run as a formula. Control characters are printable, because
 * people also show such files on a terminal.
 */
export function spreadsheetSafe(text: string): string {
  const safe = printable(text).replace(INNER_FORMULA, "$1'$2");
  return FORMULA.test(safe) ? `'${safe}` : safe;
}

/** The text from which {@link spreadsheetSafe} made this one. */
export function fromSpreadsheetSafe(text: string): string {
  const inner = ESCAPED.test(text) ? text.slice(1) : text;
  return inner.replace(INNER_ESCAPED, '$1$2');
}

/**
 * What Excel takes for a number, a date, a time, or a truth value, in any language: `0049`, `1-2`, `3. Mai`, `10:30 PM`, `MARCH1`, `WAHR`.
 * The characters can neither end the quotes around them nor call a function.
 */
const CONVERTED =
  /^(?=.*\d)[\s\d.,:/+\-%'’€$£¥]*\p{L}{0,12}[\s\d.,:/+\-%'’€$£¥]*(?: ?[ap]\.?m\.?)?$|^(?:true|false|wahr|falsch|vrai|faux|verdadero|falso|vero|waar|onwaar)$/iu;
/** The longest text that Excel accepts in a formula. */
const MAX_LITERAL = 255;
const LITERAL = /^="([^"]*)"$/;

/** A text as a cell that Excel shows as it is: `="0049"` where it would show another value, otherwise as {@link spreadsheetSafe}. */
export function excelCell(text: string): string {
  const isLiteral = text.length <= MAX_LITERAL && CONVERTED.test(text) && !/[\r\n]/.test(text);
  return isLiteral ? `="${printable(text)}"` : spreadsheetSafe(text);
}

/** The text from which {@link excelCell} or {@link spreadsheetSafe} made this one. */
export function fromExcelCell(text: string): string {
  return LITERAL.exec(text)?.[1] ?? fromSpreadsheetSafe(text);
}
