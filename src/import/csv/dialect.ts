/** How a CSV file is written, detected from its first lines. */
interface CsvDialect {
  readonly delimiter: string;
  /** Bytes before the header: a byte order mark, Excel's `sep=` line. */
  readonly skipBytes: number;
  /** Line number of the first byte after those; the first line of a file is 1. */
  readonly firstLine: number;
}

/** A tie goes to the comma: a header with one column contains no delimiter at all. */
const DELIMITERS: readonly string[] = [',', ';', '\t'];

const BYTE_ORDER_MARK = '\ufeff';

/** Excel writes `sep=;` as the first line so that an Excel of another country knows the delimiter. */
const EXCEL_SEPARATOR_LINE = /^sep=(.)\r?\n/i;

/** Detects the dialect. `head` is the start of the file, including the whole header. */
export function dialectOf(head: string): CsvDialect {
  const mark = head.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const text = head.slice(mark.length);
  const separatorLine = EXCEL_SEPARATOR_LINE.exec(text);
  const skipped = mark + (separatorLine?.[0] ?? '');
  return {
    delimiter: separatorLine?.[1] ?? commonestDelimiter(text),
    skipBytes: Buffer.byteLength(skipped),
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
