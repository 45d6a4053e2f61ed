import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  excelCell,
  fromExcelCell,
  fromSpreadsheetSafe,
  spreadsheetSafe,
} from '../../src/campaign/text/spreadsheet.js';
import { printable } from '../../src/campaign/text/visible-text.js';

/** What a terminal would run is written in another way, and not restored. */
const isPrintable = (text: string): boolean => printable(text) === text;
const text = fc.oneof(
  fc.string(),
  fc
    .array(fc.constantFrom(...`='"+-@,;\t\r\n＝＋19a. `), { maxLength: 12 })
    .map((letters) => letters.join('')),
);

test('Every text is restored from what is safe in a spreadsheet', () => {
  fc.assert(
    fc.property(text.filter(isPrintable), (original) => {
      expect(fromSpreadsheetSafe(spreadsheetSafe(original))).toBe(original);
      expect(fromExcelCell(excelCell(original))).toBe(original);
    }),
    { numRuns: 20_000 },
  );
});

test('No control character, and none that reorders text, is in a cell, except tabs and the ends of lines', () => {
  const characters = [...Array(0xa0).keys(), 0x202e, 0x2066].map((code) => String.fromCodePoint(code));
  for (const character of characters) {
    const isLineEnd = /[\t\n]/.test(character) || !/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(character);
    for (const cell of [spreadsheetSafe(`a${character}b`), excelCell(`1${character}2`)])
      expect(cell.includes(character), JSON.stringify(character)).toBe(isLineEnd);
  }
  expect(spreadsheetSafe('a\u001b[2Jb\r\nc')).toBe('a\\u001b[2Jb\r\nc');
});

/**
 * Cells that a spreadsheet makes of a field if it splits it at any separator and line end. It takes quotes in front of those cells for the
 * beginning of a field.
 */
const cellsOf = (field: string): string[] =>
  field.split(/[,;\t\r\n]/).map((cell, at) => (at === 0 ? cell : cell.replace(/^"+/, '')));

test('No cell runs as a formula, whichever separator the spreadsheet takes', () => {
  fc.assert(
    fc.property(text, (original) => {
      for (const cell of cellsOf(spreadsheetSafe(original))) expect(cell).not.toMatch(/^[=+\-@＝＋]/);
      const cell = excelCell(original);
      // Only digits, one word, and what stands between them are put into a formula.
      if (cell.startsWith('=')) expect(cell).toMatch(/^="[^"=@(]*"$/);
      else for (const part of cellsOf(cell)) expect(part).not.toMatch(/^[=+\-@＝＋]/);
    }),
    { numRuns: 20_000 },
  );
});

test.each([
  '0049',
  '1-2',
  '1/2',
  '10:30',
  '10:30 PM',
  '3. Mai',
  'MARCH1',
  'Sept 2',
  '1E5',
  '1.000,50 €',
  '+49 30 1',
  '-5',
  'TRUE',
  'wahr',
])('%j is written so that Excel shows it as text', (value) => expect(excelCell(value)).toBe(`="${value}"`));

test.each(['Anna', '12 Main Street', 'Order 7 is ready', '', 'line\n1', '1'.repeat(256)])(
  '%j stays as it is, because Excel does not change it, or takes no such formula',
  (value) => expect(excelCell(value)).toBe(value),
);
