import { counted, grouped } from '../../../base/counted.js';
import { brokenCommand, graphemesOf, widthOf, wrapped } from '../../../base/wrapped-text.js';
import { oneLine } from '../../../campaign/text/visible-text.js';
import type { ReportRow } from '../../../campaign/views/recipient-views.js';

export { counted, grouped, oneLine, widthOf, wrapped };

/** Why a recipient has its status, and the service's own word for it, in one line. */
export function explanation({
  reason,
  serviceStatus,
  serviceCode,
}: Pick<ReportRow, 'reason' | 'serviceStatus' | 'serviceCode'>): string {
  const code = serviceCode === null ? '' : ` (${serviceCode})`;
  const word = serviceStatus === null ? null : `the service says ${serviceStatus}${code}`;
  return oneLine([reason, word].filter((part) => part !== null).join('; '));
}

/** Cuts an uncoloured text to `width` columns; the last column is an ellipsis if something was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  for (const grapheme of graphemesOf(text)) {
    if (widthOf(kept + grapheme) > width - 1) break;
    kept += grapheme;
  }
  return `${kept}…`;
}

/**
 * {@link wrapped} for each line of a text. A line goes on two columns to the right of an indented one. An example, which begins with
 * `$`, is one command to the end of its line.
 */
export function wrappedLines(text: string, width: number | undefined): string {
  return text
    .split('\n')
    .flatMap((line) => {
      const example = /^( *\$ )(.+)$/.exec(line);
      if (example) return wrappedExample(example[1] ?? '', example[2] ?? '', width);
      const indent = /^ */.exec(line)?.[0].length ?? 0;
      return wrapped(line, width, indent === 0 ? 0 : indent + 2);
    })
    .join('\n');
}

function wrappedExample(prompt: string, command: string, width: number | undefined): string[] {
  if (width === undefined || widthOf(prompt + command) <= width) return [prompt + command];
  const margin = ' '.repeat(prompt.length);
  const parts = brokenCommand(command, width - prompt.length - 2);
  return parts.map((part, at) => `${at === 0 ? prompt : margin}${part}${at < parts.length - 1 ? ' \\' : ''}`);
}

/** Pads a text with spaces to `width` columns. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** `1,234.50 EUR`. */
export function money(amount: string, currency: string): string {
  return `${amount.replace(/^\d+/, (whole) => grouped(Number(whole)))} ${currency}`;
}

let compactly: Intl.NumberFormat | undefined;

/** A number in few columns: `980`, `12K`, `1.2M`. */
export function compact(count: number): string {
  // Made at its first use: it takes longer than to print the help of a command.
  compactly ??= new Intl.NumberFormat('en', { notation: 'compact' });
  return compactly.format(count);
}

/** A table in short columns. */
export interface Table {
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The column that is cut to what the others leave. */
  readonly flexible?: string;
  /** Columns that are left out, one after the other, if the table is too wide. */
  readonly optional?: readonly string[];
}

/** The last column of a table is not broken into lines of less. */
const LAST_AT_LEAST = 20;
/** The flexible column of a table is not cut to less. */
const FLEXIBLE_AT_LEAST = 8;

/**
 * Rows under a heading, each column as wide as its widest text; two spaces between columns. If that is wider than `width`, columns
 * without any text are left out; then `short` is tried, and then several lines for the last column. If nothing fits, each row becomes several lines: its first text, and below
 * it the others that are not empty, each with the name of its column.
 */
export function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
  short?: Table,
): string[] {
  const full = { heading, rows };
  for (const shown of [full, withoutEmptyColumns(full), ...(short ? [fitting(short, width)] : [])]) {
    if (widthOfTable(shown) <= width) return tableLines(shown);
  }
  const narrow = withoutEmptyColumns(full);
  const room =
    width - widthOfTable(withColumns(narrow, (_, column) => column < narrow.heading.length - 1)) - 2;
  if (room >= LAST_AT_LEAST) return linesWithWrappedEnd(narrow, room);
  const names = heading.map((name) => name.toLowerCase());
  const widest = Math.max(...names.slice(1).map(widthOf));
  return rows.flatMap(([first = '', ...others]) => [
    ...wrapped(first, width),
    ...others.flatMap((text, at) =>
      text === '' ? [] : wrapped(`  ${padded(names[at + 1] ?? '', widest)}  ${text}`, width, widest + 4),
    ),
  ]);
}

function withColumns(
  { heading, rows, ...more }: Table,
  isShown: (name: string, column: number) => boolean,
): Table {
  return {
    heading: heading.filter(isShown),
    rows: rows.map((row) => row.filter((_, column) => isShown(heading[column] ?? '', column))),
    ...more,
  };
}

function withoutEmptyColumns(shown: Table): Table {
  return withColumns(shown, (_, column) => shown.rows.some((row) => row[column] !== ''));
}

/** The table with its flexible column cut, and without as many optional columns as necessary. */
function fitting(short: Table, width: number): Table {
  const leftOut = new Set<string>();
  let shown = withoutEmptyColumns(short);
  for (const name of ['', ...(short.optional ?? [])]) {
    leftOut.add(name);
    shown = cutColumn(
      withColumns(withoutEmptyColumns(short), (each) => !leftOut.has(each)),
      width,
    );
    if (widthOfTable(shown) <= width) break;
  }
  return shown;
}

function cutColumn(shown: Table, width: number): Table {
  const at = shown.heading.indexOf(shown.flexible ?? '');
  const excess = widthOfTable(shown) - width;
  if (at === -1 || excess <= 0) return shown;
  const room = Math.max(FLEXIBLE_AT_LEAST, (columnWidths(shown)[at] ?? 0) - excess);
  return {
    ...shown,
    rows: shown.rows.map((row) => row.map((text, column) => (column === at ? cut(text, room) : text))),
  };
}

function linesWithWrappedEnd({ heading, rows }: Table, room: number): string[] {
  const broken = rows.flatMap((row) => {
    const [first = '', ...others] = wrapped(row.at(-1) ?? '', room);
    const empty = row.slice(1).map(() => '');
    return [[...row.slice(0, -1), first], ...others.map((line) => [...empty, line])];
  });
  return tableLines({ heading, rows: broken });
}

function columnWidths({ heading, rows }: Table): number[] {
  return heading.map((name, column) =>
    Math.max(widthOf(name), ...rows.map((row) => widthOf(row[column] ?? ''))),
  );
}

function widthOfTable(shown: Table): number {
  return columnWidths(shown).reduce((sum, each) => sum + each + 2, -2);
}

function tableLines(shown: Table): string[] {
  const widths = columnWidths(shown);
  return [shown.heading, ...shown.rows].map((row) =>
    row
      .map((text, column) => padded(text, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
