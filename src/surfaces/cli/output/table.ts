import { moment } from '../../../base/moments.js';
import { columnsOf, type Paint, unpainted } from './terminal.js';
import { cut, oneLine, padded, widthOf, wrapped } from './text.js';

/** A text of each item, by the heading of its column. */
type Columns<Item> = Readonly<Record<string, (item: Item) => string | null>>;

/** A table of things on a stream, or `none` if there are none. What others have written cannot change how it looks. */
export function tableOf<Item>(
  stream: NodeJS.WriteStream,
  items: readonly Item[],
  none: string,
  columns: Columns<Item>,
): string[] {
  if (items.length === 0) return [none];
  const rows = items.map((item) => Object.values(columns).map((of) => oneLine(of(item) ?? '')));
  return table(Object.keys(columns), rows, columnsOf(stream));
}

const LABEL_WIDTH = 10;

/** What is known of a thing, each in a line with its label. */
export function facts(known: Readonly<Record<string, string | null>>, paint: Paint = unpainted): string[] {
  return Object.entries(known).flatMap(([label, text]) =>
    text === null ? [] : [`  ${paint('dim', padded(label, LABEL_WIDTH))}${oneLine(text)}`],
  );
}

/** A time of the JSON for people; null if there is none. */
export function timeText(iso: string | null, now: number, zone: string | null = null): string | null {
  return iso === null ? null : moment(Date.parse(iso), now, zone);
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
