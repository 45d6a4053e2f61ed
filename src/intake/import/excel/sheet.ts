import type { Archive } from './archive.js';
import type { Cell } from './cell.js';
import { MAX_SHEET_ROWS, SAVE_AS_CSV, WorkbookError } from './limits.js';
import { readPart, textCollector, withoutEscapes } from './parts.js';

/** As many as a sheet of Excel can have. */
const MAX_COLUMNS = 16_384;
const REFERENCE = /^\$?([A-Z]{1,7})\$?(\d{1,7})$/;

/** What a sheet has. Rows come in their order; those without a value do not come. */
interface SheetEvents {
  /** `cells`: by their positions. */
  row(line: number, cells: ReadonlyMap<number, Cell>, isHidden: boolean): void;
  /** Cells that are merged: `A5:A7`, and the last of their lines. */
  merged(range: string, lastLine: number): void;
}

/** Reads a sheet row by row. Throws a {@link WorkbookError} if it has more than a list may have. */
export async function readSheet(
  archive: Archive,
  part: string,
  formats: readonly string[],
  { row, merged }: SheetEvents,
): Promise<void> {
  let [line, position, count] = [0, -1, 0];
  let isHidden = false;
  let cells = new Map<number, Cell>();
  let cell = { type: 'n', format: 'General', isFormula: false };
  let [isValue, raw] = [false, ''];
  const inline = textCollector();
  const addCell = (): void => {
    const plain = cell.type === 'str' ? withoutEscapes(raw) : raw;
    const value = cell.type === 'inlineStr' ? inline.take() : plain;
    if (value !== '' || cell.isFormula) cells.set(position, { ...cell, raw: value });
  };
  await readPart(archive, part, {
    open(name, attributes) {
      inline.open(name);
      if (name === 'row') {
        line = Number(attributes['r'] ?? line + 1);
        [position, isHidden, cells] = [-1, /^(?:1|true)$/.test(attributes['hidden'] ?? ''), new Map()];
      } else if (name === 'c') {
        const { r: reference, t: type = 'n', s: style = '0' } = attributes;
        position = reference === undefined ? position + 1 : positionOf(reference);
        if (position >= MAX_COLUMNS) throw tooWide(line);
        cell = { type, format: formats[Number(style)] ?? 'General', isFormula: false };
        raw = '';
      } else if (name === 'f') cell.isFormula = true;
      else if (name === 'v') isValue = true;
      else if (name === 'mergeCell') {
        const range = attributes['ref'] ?? '';
        merged(range, Number(REFERENCE.exec(range.split(':').at(-1) ?? '')?.[2] ?? 0));
      }
    },
    text(text) {
      if (isValue) raw += text;
      else inline.add(text);
    },
    close(name) {
      inline.close(name);
      if (name === 'v') isValue = false;
      else if (name === 'c') addCell();
      else if (name === 'row' && cells.size > 0) {
        count += 1;
        if (count > MAX_SHEET_ROWS + 1)
          throw new WorkbookError(
            `The sheet has more than ${MAX_SHEET_ROWS.toLocaleString('en')} rows. ${SAVE_AS_CSV}.`,
          );
        row(line, cells, isHidden);
      }
    },
  });
}

const tooWide = (line: number): WorkbookError =>
  new WorkbookError(
    `Line ${line} has a cell beyond column ${letters(MAX_COLUMNS - 1)}, the last one that Excel has. Delete what is not part of the list.`,
  );

/** The position of a cell in its row: 0 for `A7`. */
function positionOf(reference: string): number {
  const [, column = ''] = REFERENCE.exec(reference) ?? [];
  return [...column].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

/** The letters of a column: `A` for 0. */
export function letters(position: number): string {
  const before = position < 26 ? '' : letters(Math.floor(position / 26) - 1);
  return before + String.fromCharCode(65 + (position % 26));
}
