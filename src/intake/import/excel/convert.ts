import { writeSync } from 'node:fs';
import { grouped } from '../../../base/counted.js';
import { namedRows } from '../rows/named-rows.js';
import { openArchive, tooLarge } from './archive.js';
import { cellText } from './cell.js';
import {
  type Conversion,
  MAX_UNPACKED_BYTES,
  SAVE_AS_CSV,
  type SheetChoice,
  type SheetRow,
  WorkbookError,
} from './limits.js';
import { readWorkbookParts } from './parts.js';
import { letters, readSheet } from './sheet.js';

/*
 * The process that reads a workbook: from its standard input, which is a file, to the file 3, a row per line as JSON. On standard output it says
 * how it went (Conversion). It is a process of its own because a hostile workbook may fill its memory or keep it busy, and only it.
 */

const [INPUT, OUTPUT] = [0, 3];
/** So much is written at once. */
const WRITE_CHARACTERS = 256 * 1024;
/** Columns, ranges, and cells that a warning names. */
const FEW = 3;
/** With so many digits, a value may be a phone number. */
const DIGITS_OF_A_NUMBER = 7;

interface Shown {
  count: number;
  readonly examples: string[];
}

/** What may not be as the person sees it in Excel, while the rows of a sheet are read. */
function oddities() {
  const [hidden, empty, merged, long] = [namedRows(), namedRows(), namedRows(), namedRows()];
  const shown = new Map<string, Shown>();
  const cells = (count: number): string => (count === 1 ? '1 cell shows' : `${grouped(count)} cells show`);
  return {
    hidden,
    empty,
    merged,
    long,
    addShown(column: string, example: string): void {
      const entry = shown.get(column) ?? { count: 0, examples: [] };
      shown.set(column, entry);
      entry.count += 1;
      if (entry.examples.length < FEW) entry.examples.push(example);
    },
    warnings(): string[] {
      const columns = [...shown].slice(0, FEW).map(([column, { count, examples }]) => {
        const others = count > examples.length ? ', …' : '';
        return `In column ${JSON.stringify(column)}, ${cells(count)} something else than the value, which is used: ${examples.join(', ')}${others}. To use what Excel shows, write it as text.`;
      });
      const more = shown.size - columns.length;
      return [
        ...columns,
        ...(more > 0 ? [`So do cells in ${more === 1 ? '1 other column' : `${more} other columns`}.`] : []),
        ...(long.count() === 0
          ? []
          : [
              `Excel keeps only 15 digits of a number; longer ones are on ${long.lines()}. Write them as text.`,
            ]),
        ...(merged.count() === 0
          ? []
          : [
              `Only the first of merged cells has a value, and the others are empty: ${merged.text()} (${grouped(merged.count())} in all).`,
            ]),
        ...(hidden.count() === 0
          ? []
          : [
              `${rowsAre(hidden.count())} hidden in Excel, and part of the list: ${hidden.lines()}. To leave hidden rows out, delete them.`,
            ]),
        ...(empty.count() === 0 ? [] : [`${rowsAre(empty.count())} empty, and skipped: ${empty.lines()}.`]),
      ];
    },
  };
}

const rowsAre = (count: number): string => (count === 1 ? '1 row is' : `${grouped(count)} rows are`);

/** Warnings contain no phone numbers. */
const exampleOf = (shown: string, text: string, line: number): string =>
  `${text.replace(/\D/g, '').length < DIGITS_OF_A_NUMBER ? `${JSON.stringify(shown)} for ${text} ` : ''}on line ${line}`;

/** Writes rows to the open file, and fails beyond the limit. */
function rowWriter(fd: number) {
  let [lines, written] = ['', 0];
  const flush = (): void => {
    written += Buffer.byteLength(lines);
    if (written > MAX_UNPACKED_BYTES) throw tooLarge();
    for (let bytes = Buffer.from(lines); bytes.length > 0; ) bytes = bytes.subarray(writeSync(fd, bytes));
    lines = '';
  };
  return {
    add(row: SheetRow): void {
      lines += `${JSON.stringify(row)}\n`;
      if (lines.length > WRITE_CHARACTERS) flush();
    },
    flush,
  };
}

/** Reads one sheet of the workbook, and writes its rows. */
async function convert({ sheet: wanted, headerLine }: SheetChoice): Promise<Conversion> {
  const archive = await openArchive(INPUT);
  const workbook = await readWorkbookParts(archive);
  const visible = workbook.sheets.filter(({ isHidden }) => !isHidden);
  const names = visible.map(({ name }) => name);
  const isWanted = ({ name }: { readonly name: string }): boolean =>
    name.trim().toLowerCase() === wanted?.trim().toLowerCase();
  const sheet = wanted === undefined ? (visible[0] ?? workbook.sheets[0]) : workbook.sheets.find(isWanted);
  if (sheet === undefined) {
    const there = names.map((name) => JSON.stringify(name)).join(', ');
    throw new WorkbookError(
      wanted === undefined
        ? 'The workbook has no sheet with cells.'
        : `There is no sheet ${JSON.stringify(wanted)}. The sheets are ${there}.`,
    );
  }
  const rows = rowWriter(OUTPUT);
  const odd = oddities();
  let titles: readonly string[] | undefined;
  let lastLine = 0;
  const titleOf = (position: number): string => titles?.[position]?.trim() || letters(position);
  const ranges: { readonly range: string; readonly last: number }[] = [];
  let first = 0;
  await readSheet(archive, sheet.part, workbook.formats, {
    row(line, cells, isHidden) {
      if (titles === undefined && line < (headerLine ?? 0)) return;
      const width = Math.max(...cells.keys()) + 1;
      const fields = Array.from({ length: width }, () => '');
      const unusable: [number, string][] = [];
      for (const [position, cell] of cells) {
        const { text, shown, isLong, problem } = cellText(cell, workbook);
        fields[position] = text;
        if (problem !== undefined) unusable.push([position, problem]);
        if (titles === undefined) continue;
        if (shown !== undefined) odd.addShown(titleOf(position), exampleOf(shown, text, line));
        if (isLong === true) odd.long.add(line);
      }
      if (unusable.length === 0 && fields.every((field) => field.trim() === '')) return;
      if (titles === undefined) [titles, first] = [fields, line];
      else {
        for (let empty = lastLine + 1; empty < line; empty++) odd.empty.add(empty);
        if (isHidden) odd.hidden.add(line);
      }
      lastLine = line;
      rows.add(unusable.length === 0 ? [line, fields] : [line, fields, unusable]);
    },
    merged: (range, last) => void ranges.push({ range, last }),
  });
  rows.flush();
  // Titles above the header, and the header itself, may be merged.
  for (const { range, last } of ranges) if (last > first) odd.merged.add(range);
  const sheets = sheet.isHidden ? [...names, sheet.name] : names;
  return { sheet: sheet.name, sheets, warnings: odd.warnings() };
}

async function report(): Promise<Conversion> {
  try {
    return await convert(JSON.parse(process.argv[2] ?? '{}'));
  } catch (error) {
    if (error instanceof WorkbookError) return { problem: error.message };
    // Longer than a text can be, in a single cell.
    if (error instanceof RangeError)
      return { problem: `A cell of the workbook is too long. ${SAVE_AS_CSV}.` };
    throw error;
  }
}

process.stdout.write(JSON.stringify(await report()));
