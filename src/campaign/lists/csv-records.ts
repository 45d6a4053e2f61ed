/*
 * Splits CSV (RFC 4180) into records: for lists on all surfaces, for price files, and for the page of the console.
 *
 * A quote that is not closed, or not doubled, would hide the rows as far as the next quote. So a record whose quotes are wrong ends
 * with the line on which the quote at fault opens, with its fault, and the next record begins on the line below. No library for CSV does that.
 */

/** A record, and where it is. */
export interface CsvRecord {
  /** The line where it begins. */
  readonly line: number;
  /** Its row in a spreadsheet, if that is not its line: a field before it has line breaks. */
  readonly row?: number | undefined;
  readonly fields: readonly string[];
  /** What is wrong with its quotes, and in which field. */
  readonly fault?: QuoteFault | undefined;
  /** If it has several lines: the fields of each of them, as if no field had a line break. */
  readonly lines?: readonly (readonly string[])[] | undefined;
}

interface QuoteFault {
  /** The position of the field. */
  readonly at: number;
  /** Continues `line 7 `. `field` names the field. */
  text(field: string): string;
}

/** A field with line breaks that is longer than this is taken for a quote that is not closed. */
const MAX_SPAN = 5_000;
/** Longer records are refused before they fill the memory. */
const MAX_RECORD = 1_000_000;

/** The text is not CSV; the message is for people. */
export class CsvRecordError extends Error {
  override readonly name = 'CsvRecordError';
}

/** How a CSV file is written, detected from its first lines. */
export interface CsvDialect {
  readonly delimiter: string;
  /** Characters before the header: a byte order mark, Excel's `sep=` line. */
  readonly skipped: string;
  /** Line number of the first character after those; the first line of a file is 1. */
  readonly firstLine: number;
}

/** A tie goes to the comma: a header with one column contains no delimiter at all. */
const DELIMITERS: readonly string[] = [',', ';', '\t'];
const BYTE_ORDER_MARK = '\ufeff';
/** Excel writes `sep=;` as the first line so that an Excel of another country knows the delimiter. */
const EXCEL_SEPARATOR_LINE = /^sep=([^"\r\n])(?:\r\n?|\n)/i;

/** Detects the dialect. `head` is the start of the file, including the whole header. */
export function dialectOf(head: string): CsvDialect {
  const mark = head.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const text = head.slice(mark.length);
  const separatorLine = EXCEL_SEPARATOR_LINE.exec(text);
  return {
    delimiter: separatorLine?.[1] ?? commonestDelimiter(text),
    skipped: mark + (separatorLine?.[0] ?? ''),
    firstLine: separatorLine === null ? 1 : 2,
  };
}

/** The delimiter that occurs most often in the header, outside quotes. A quote opens only at the start of a field. */
function commonestDelimiter(text: string): string {
  const counts = new Map<string, number>(DELIMITERS.map((delimiter) => [delimiter, 0]));
  let quoted = false;
  let before = '';
  for (const char of text.trimStart()) {
    const opens = before === '' || before === '"' || counts.has(before);
    if (char === '"' && (quoted || opens)) quoted = !quoted;
    else if (!quoted && (char === '\n' || char === '\r')) break;
    else if (!quoted && counts.has(char)) counts.set(char, (counts.get(char) ?? 0) + 1);
    before = char;
  }
  return DELIMITERS.reduce((best, each) => ((counts.get(each) ?? 0) > (counts.get(best) ?? 0) ? each : best));
}

/** Reads CSV that arrives in parts. Blank lines are no records; a quote inside an unquoted field is kept as it is. */
export class CsvReader {
  readonly #delimiter: string;
  #line: number;
  /** Lines in fields so far, besides the first of each field. */
  #linesInFields = 0;
  /** What has been received and not read. */
  #text = '';
  /** Reading is tried again when so much has been received: twice as much as at the last time, or a long record would be read many times. */
  #wanted = 0;

  constructor({ delimiter, firstLine }: Pick<CsvDialect, 'delimiter' | 'firstLine'>) {
    this.#delimiter = delimiter;
    this.#line = firstLine;
  }

  /** What has been received and is not a complete record yet. */
  get rest(): string {
    return this.#text;
  }

  /** The records that end in the next part. Throws a {@link CsvRecordError} for a record that is too long. */
  read(part: string, isLast: boolean): readonly CsvRecord[] {
    this.#text += part;
    if (!isLast && this.#text.length < this.#wanted) return [];
    const text = this.#text;
    const records: CsvRecord[] = [];
    let quote = text.indexOf('"');
    let at = 0;
    while (at < text.length) {
      const end = endOfLine(text, at, isLast);
      if (quote !== -1 && quote < at) quote = text.indexOf('"', at);
      const hasQuote = quote !== -1 && (end === null || quote < end.of);
      const found = hasQuote
        ? this.#quotedRecord(text, at, end, isLast)
        : end && this.#plainRecord(text, at, end);
      if (found === null) break;
      const { fields, fault, lineCount, next } = found;
      const line = this.#line;
      if (hasQuote || fields.length > 1 || fields[0] !== '') {
        const row = this.#linesInFields === 0 ? undefined : line - this.#linesInFields;
        const lines =
          lineCount === 1
            ? undefined
            : linesOf(text.slice(at, next)).map((one) => one.split(this.#delimiter));
        records.push({ line, row, fields, fault, lines: lines?.slice(0, lineCount) });
      }
      if (fault === undefined) this.#linesInFields += lineCount - 1;
      this.#line += lineCount;
      at = next;
    }
    this.#text = text.slice(at);
    this.#wanted = Math.min(2 * this.#text.length, MAX_RECORD + 1);
    if (this.#text.length > MAX_RECORD)
      throw new CsvRecordError(
        `Line ${this.#line} is longer than ${MAX_RECORD.toLocaleString('en')} characters. Check that each row is on a line of its own.`,
      );
    return records;
  }

  #plainRecord(text: string, at: number, end: LineEnd): Found {
    return { fields: text.slice(at, end.of).split(this.#delimiter), lineCount: 1, next: end.next };
  }

  /** Reads a record with quotes, whose first line has this end. Null if it has not been received completely. */
  #quotedRecord(text: string, at: number, firstEnd: LineEnd | null, isLast: boolean): Found | null {
    const fields: string[] = [];
    let end = firstEnd;
    let from = at;
    let lineCount = 1;
    for (;;) {
      if (text[from] !== '"') {
        if (end === null) return null;
        const rest = text.slice(from, end.of);
        const length = rest.indexOf(this.#delimiter);
        fields.push(length === -1 ? rest : rest.slice(0, length));
        if (length === -1) return { fields, lineCount, next: end.next };
        from += length + 1;
        continue;
      }
      const close = closingQuote(text, from);
      const to = close === -1 ? text.length : close;
      const isSpanning = end !== null && to > end.of;
      const isTooLong = isSpanning && to - from > MAX_SPAN;
      // What follows the quote may be another quote, or a line break of two characters.
      if (!isTooLong && !isLast && (close === -1 || close + 2 >= text.length)) return null;
      const breakLength = close === -1 ? -1 : breakAt(text, close + 1);
      const isClosed = breakLength !== -1 || (close !== -1 && text[close + 1] === this.#delimiter);
      if (isTooLong || !isClosed) {
        if (end === null) return null;
        const fault = {
          at: fields.length,
          text: faultText(this.#line + lineCount - 1, text.slice(from, to), close),
        };
        const shown = text.slice(from, end.of).split(this.#delimiter);
        return { fields: fields.concat(shown), fault, lineCount, next: end.next };
      }
      const value = text.slice(from + 1, close).replaceAll('""', '"');
      fields.push(value);
      if (isSpanning) {
        lineCount += linesOf(value).length - 1;
        end = endOfLine(text, close + 1, isLast);
      }
      if (breakLength !== -1) return { fields, lineCount, next: close + 1 + breakLength };
      from = close + 2;
    }
  }
}

/** Where a line ends, and where the next one begins. */
interface LineEnd {
  readonly of: number;
  readonly next: number;
}

/** A record that begins at the current position. `lineCount`: the lines that it has; `next`: where the next one begins. */
interface Found extends Pick<CsvRecord, 'fields' | 'fault'> {
  readonly lineCount: number;
  readonly next: number;
}

const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d];

/** Where the line at a position ends; null if that has not been received. */
function endOfLine(text: string, at: number, isLast: boolean): LineEnd | null {
  for (let of = at; of < text.length; of++) {
    const unit = text.charCodeAt(of);
    if (unit !== LINE_FEED && unit !== CARRIAGE_RETURN) continue;
    // A carriage return may be the first half of a line break.
    if (unit === CARRIAGE_RETURN && of + 1 === text.length && !isLast) return null;
    return { of, next: of + breakAt(text, of) };
  }
  return isLast ? { of: text.length, next: text.length } : null;
}

/** The length of the line break at a position: 0 at the end of the text, and -1 if there is none. */
function breakAt(text: string, at: number): number {
  if (at >= text.length) return 0;
  if (text[at] === '\n') return 1;
  return text[at] === '\r' ? (text[at + 1] === '\n' ? 2 : 1) : -1;
}

const linesOf = (text: string): readonly string[] => text.split(/\r\n|\n|\r/);

/** The quote that closes a field: the first one that is not doubled; -1 if there is none yet. */
function closingQuote(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}

/**
 * Says what is wrong with a quote that opens on a line. `quoted`: the text from there to the next quote that is not doubled, which is at
 * `close`; -1 if there is none.
 */
function faultText(line: number, quoted: string, close: number): QuoteFault['text'] {
  const spanned = linesOf(quoted).length - 1;
  if (close !== -1 && spanned === 0)
    return (field) => `has a quote inside the quotes of ${field} that is not doubled; write it twice ("")`;
  const isTooLong = quoted.length > MAX_SPAN;
  const what = isTooLong
    ? `does not close it within ${MAX_SPAN.toLocaleString('en')} characters`
    : close === -1
      ? 'does not close it'
      : `the next quote, on line ${line + spanned}, does not close it`;
  return (field) => `opens a quote in ${field}, and ${what}; close the quote, or leave it out`;
}
