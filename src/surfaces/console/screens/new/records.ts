/*
 * Splits a CSV into records, as the server does, to show its rows beside their problems. What a number or a column means is the server's to say.
 */

/** A record of a list. */
export interface CsvRecord {
  /** The line of the file where it begins, from 1: how the server names it. */
  readonly line: number;
  /** Its row in a spreadsheet, from 1: a field may contain line breaks. */
  readonly row: number;
  readonly fields: readonly string[];
}

/** A tie goes to the comma, as on the server. */
const DELIMITERS = [',', ';', '\t'] as const;
/** A longer record is a quote that is never closed. The server refuses it. */
const MAX_RECORD = 1_000_000;
const SEPARATOR_LINE = /^sep=(.)\r?\n/i;

/** The delimiter of a list with these columns, as the server has read them. */
export function delimiterOf(text: string, columns: readonly string[]): string {
  const named = SEPARATOR_LINE.exec(text)?.[1];
  if (named !== undefined) return named;
  const isRight = (delimiter: string): boolean => {
    const [header] = new CsvSplitter(delimiter).push(text.slice(0, 65_536), true);
    return header !== undefined && header.fields.map((name) => name.trim()).join('\0') === columns.join('\0');
  };
  return DELIMITERS.find(isRight) ?? ',';
}

/** Splits a text that arrives in parts. A quote opens only at the start of a field. Blank lines count, but are no records. */
export class CsvSplitter {
  readonly #delimiter: string;
  #rest = '';
  #line = 1;
  #row = 1;
  #isBegun = false;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
  }

  /** The records that are complete. Everything is with the last part. */
  push(part: string, isEnd = false): CsvRecord[] {
    let text = this.#rest + part;
    const isLast = isEnd || text.length > MAX_RECORD + part.length;
    if (!this.#isBegun && text !== '') {
      this.#isBegun = true;
      const skipped = SEPARATOR_LINE.exec(text)?.[0];
      if (skipped !== undefined) {
        text = text.slice(skipped.length);
        this.#line = 2;
        this.#row = 2;
      }
    }
    const records: CsvRecord[] = [];
    let start = 0;
    while (start < text.length) {
      const found = this.#recordAt(text, start, isLast);
      if (found === undefined) break;
      const { fields, end, breaks } = found;
      const isBlank = fields.every((field) => field.trim() === '');
      if (!isBlank) records.push({ line: this.#line, row: this.#row, fields });
      this.#line += 1 + breaks;
      this.#row += 1;
      start = end;
    }
    this.#rest = text.slice(start);
    return records;
  }

  #recordAt(text: string, start: number, isLast: boolean) {
    const fields: string[] = [];
    let [at, breaks] = [start, 0];
    for (;;) {
      let field = '';
      if (text[at] === '"') {
        const closed = quoted(text, at);
        field = closed?.value ?? text.slice(at + 1);
        breaks += field.split(/\r\n|\r|\n/).length - 1;
        at = closed?.end ?? text.length;
      }
      const from = at;
      while (at < text.length && !this.#isEnd(text[at])) at += 1;
      fields.push(field + text.slice(from, at));
      if (at < text.length && text[at] === this.#delimiter) {
        at += 1;
        continue;
      }
      // A carriage return at the end of a part may belong to a line feed.
      const isOpen = at >= text.length || (text[at] === '\r' && at + 1 >= text.length);
      if (isOpen && !isLast) return undefined;
      const length = text.startsWith('\r\n', at) ? 2 : 1;
      return { fields, end: at + length, breaks };
    }
  }

  #isEnd = (character: string | undefined): boolean =>
    character === this.#delimiter || character === '\n' || character === '\r';
}

/** The value in quotes that begins here, and where it ends; undefined if its quote is not closed. */
function quoted(text: string, start: number): { readonly value: string; readonly end: number } | undefined {
  let value = '';
  for (let from = start + 1; ; ) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return undefined;
    value += text.slice(from, quote);
    if (text[quote + 1] !== '"') return { value, end: quote + 1 };
    value += '"';
    from = quote + 2;
  }
}

/** The text as far as its last complete record: what a preview can be asked about before the rest has been read. */
export function wholeRecords(text: string): string {
  let isQuoted = false;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      const before = text[at - 1];
      if (
        isQuoted ||
        at === 0 ||
        before === '"' ||
        isBreak(before) ||
        DELIMITERS.some((one) => one === before)
      )
        isQuoted = !isQuoted;
    } else if (!isQuoted && isBreak(character)) end = at + 1;
  }
  return text.slice(0, end);
}

const isBreak = (character: string | undefined): boolean => character === '\n' || character === '\r';

/** A record as a line of CSV. */
export const csvLine = (fields: readonly string[], delimiter: string): string =>
  `${fields
    .map((field) =>
      /["\r\n]/.test(field) || field.includes(delimiter) ? `"${field.replaceAll('"', '""')}"` : field,
    )
    .join(delimiter)}\r\n`;
