import { expect, test } from 'vitest';
import { table } from '../../../../src/surfaces/cli/output/table.js';
import { counted, cut, oneLine, padded, widthOf } from '../../../../src/surfaces/cli/output/text.js';

test('Untrusted text cannot move the cursor, colour, hide, or reverse anything', () => {
  expect(oneLine('a\u001b[31mb\u0007c\u009bd\u202ee')).toBe('a·[31mb·c·d·e');
  expect(oneLine('one\r\ntwo\nthree\ttab')).toBe('one⏎two⏎three·tab');
  expect(oneLine("O'Brien & Søn 🎂")).toBe("O'Brien & Søn 🎂");
});

test('Width counts columns: none for colours, two for emoji and East Asian letters', () => {
  expect(widthOf('abc')).toBe(3);
  expect(widthOf('\u001b[31mabc\u001b[39m')).toBe(3);
  expect(widthOf('🎂')).toBe(2);
  expect(widthOf('👩‍👩‍👧')).toBe(2);
  expect(widthOf('日本')).toBe(4);
  expect(widthOf('é')).toBe(1);
  expect(widthOf('𠮷野家')).toBe(6);
});

test('Marks that are drawn onto a letter take no column, and those beside it take one', () => {
  expect(widthOf('e\u0301')).toBe(1);
  expect(widthOf('สวัสดี')).toBe(4);
  expect(widthOf('कि')).toBe(2);
  expect(widthOf('か\u3099')).toBe(2);
  expect(widthOf('\u1112\u1161\u11ab')).toBe(2);
  expect(widthOf('a\u200bb')).toBe(2);
});

test('Text is cut between letters, with an ellipsis in the last column', () => {
  expect(cut('abcdef', 6)).toBe('abcdef');
  expect(cut('abcdef', 4)).toBe('abc…');
  expect(cut('🎂🎂🎂', 4)).toBe('🎂…');
});

test('The columns of a table are aligned for any content', () => {
  expect(
    table(
      ['ID', 'NAME'],
      [
        ['1', '🎂 cake'],
        ['22', 'x'],
      ],
    ),
  ).toEqual(['ID  NAME', '1   🎂 cake', '22  x']);
  expect(padded('🎂', 4)).toBe('🎂  ');
});

test('A table that is too wide leaves out empty columns, then breaks its last column, and then becomes blocks', () => {
  const heading = ['ID', 'EMPTY', 'WHY'];
  const rows = [
    ['1', '', 'because it was said twice'],
    ['2', '', 'so'],
  ];
  expect(table(heading, rows, 36)).toEqual([
    'ID  EMPTY  WHY',
    '1          because it was said twice',
    '2          so',
  ]);
  expect(table(heading, rows, 29)).toEqual(['ID  WHY', '1   because it was said twice', '2   so']);
  expect(table(heading, rows, 24)).toEqual(['ID  WHY', '1   because it was said', '    twice', '2   so']);
  expect(table(heading, rows, 23)).toEqual([
    '1',
    '  why    because it was',
    '         said twice',
    '2',
    '  why    so',
  ]);
});

test('Counts agree with their nouns and are grouped by thousands', () => {
  expect(counted(1, 'recipient')).toBe('1 recipient');
  expect(counted(12_345, 'recipient')).toBe('12,345 recipients');
  expect(counted(2, 'process', 'processes')).toBe('2 processes');
});
