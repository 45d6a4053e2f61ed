/** How a CSV file is written, found from its first lines. */
export interface CsvDialect {
  readonly delimiter: string;
  /** Bytes before the header: a byte order mark, Excel's `sep=` line. */
  readonly skipBytes: number;
  /** Physical line of the first byte after those; the first line of a file is 1. */
  readonly firstLine: number;
}

/** Comma first: it is taken for a header of one column, where nothing is delimited. */
const DELIMITERS: readonly string[] = [',', ';', '\t'];

const BYTE_ORDER_MARK = '\ufeff';

/** Excel writes `sep=;` as the first line so that other countries' Excels know the delimiter. */
const EXCEL_SEPARATOR_LINE = /^sep=(.)\r?\n/i;

/** `head` is the beginning of the file, with the whole header in it. */
export function dialectOf(head: string): CsvDialect {
  const mark = head.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const text = head.slice(mark.length);
  const named = EXCEL_SEPARATOR_LINE.exec(text);
  const skipped = mark + (named?.[0] ?? '');
  return {
    delimiter: named?.[1] ?? commonestDelimiter(text),
    skipBytes: Buffer.byteLength(skipped),
    firstLine: named === null ? 1 : 2,
  };
}

/** The delimiter that stands most often in the header, outside quotes. A quote opens only where a field begins. */
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
