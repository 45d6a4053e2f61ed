/*
 * Texts of others, such as ids, references, and reasons, as they are printed: nothing in them moves the cursor of a terminal, colours,
 * hides, or reorders what is around them.
 */

/** Control characters (C0, delete, and C1), and those that change the direction of text. */
const UNSAFE = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
/** The same, except tabs and the ends of lines. */
const UNSAFE_IN_LINES = /(?![\t\n]|\r\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A text on one line for people. */
export function oneLine(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '⏎').replace(UNSAFE, '·');
}

/** JSON on one line. `JSON.stringify` leaves some of these characters as they are; a parser reads the same value from both. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, escaped);
}

/** A text of several lines, a line of JSON, or a field of a CSV file: these characters are written as `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNSAFE_IN_LINES, escaped);
}
