import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EMPTY, startOf } from '../../../src/surfaces/console/screens/new/draft.js';
import { segmentHint } from '../../../src/surfaces/console/screens/new/hints.js';
import {
  CsvSplitter,
  csvLine,
  delimiterOf,
  wholeRecords,
} from '../../../src/surfaces/console/screens/new/records.js';

const MESSY = readFileSync(new URL('../../../examples/messy.csv', import.meta.url), 'utf8');

test.each([
  ['\n', MESSY],
  ['\r\n', MESSY.replaceAll('\n', '\r\n')],
])(
  'Records that end with %j have the lines of the server and the rows of a spreadsheet, however the text is divided',
  (_, text) => {
    const split = (size: number) => {
      const splitter = new CsvSplitter(',');
      const records = [];
      for (let at = 0; at < text.length; at += size)
        records.push(...splitter.push(text.slice(at, at + size)));
      return [...records, ...splitter.push('', true)];
    };
    const whole = split(text.length);
    for (const size of [1, 2, 5, 100]) expect(split(size)).toEqual(whole);
    // Line 10 is blank, and Isla's name has a line break in line 13.
    expect(whole.find(({ fields }) => fields[0]?.startsWith('Isla'))).toMatchObject({ line: 13, row: 13 });
    expect(whole.find(({ fields }) => fields[0] === 'Jo Green')).toMatchObject({ line: 15, row: 14 });
    expect(whole.find(({ fields }) => fields[0] === 'Gus "Gus" Hill')).toMatchObject({ line: 11 });
  },
);

test('The beginning of a list ends with a complete record', () => {
  expect(wholeRecords('a,b\n1,2\n3,"x\ny')).toBe('a,b\n1,2\n');
  expect(wholeRecords('a,b\r\n1,"2""\r\n"\r\n3')).toBe('a,b\r\n1,"2""\r\n"\r\n');
  expect(wholeRecords('a;b\n5" pipe;2\n3;')).toBe('a;b\n5" pipe;2\n');
  expect(wholeRecords('a,b')).toBe('');
});

test('The delimiter is that of the columns which the server has read', () => {
  expect(delimiterOf('name;phone, home\nA;1\n', ['name', 'phone, home'])).toBe(';');
  expect(delimiterOf('sep=|\nname|phone\n', ['name', 'phone'])).toBe('|');
  expect(delimiterOf('phone\n1\n', ['phone'])).toBe(',');
  expect(new CsvSplitter('|').push('sep=|\nname|phone\nA|1\n')).toMatchObject([
    { line: 2 },
    { line: 3, row: 3 },
  ]);
});

test('A row that is saved is read again as it was', () => {
  const fields = ['plain', 'a,b', 'say "hi"', 'two\nlines', ''];
  expect(new CsvSplitter(',').push(csvLine(fields, ','))).toMatchObject([{ fields }]);
});

test('A hint says how many segments a character costs, and has the text without it', () => {
  const columns = ['name'];
  const rows = [['Ann'], ['Zoë🌷'], ['']];
  const text = `Hi {{name}}, it’s here${'.'.repeat(60)}`;
  // The name of the second row needs UCS-2 anyway, and the third row gets no message.
  expect(segmentHint(text, columns, rows)).toEqual({
    characters: ['’'],
    simpler: text.replace('’', "'"),
    extra: 1,
    rows: 2,
  });
  expect(segmentHint(`${text}🌷`, columns, [['Ann']])).toMatchObject({
    simpler: null,
    characters: ['’', '🌷'],
  });
  expect(segmentHint('Hi ’', columns, rows)).toBe(null);
  expect(segmentHint('Hi {{näme’}}', ['näme’'], [['x'.repeat(100)]])).toBe(null);
});

test('A start that the zone skips, has twice, or that is over is refused', () => {
  const now = Date.parse('2026-11-24T04:00:00Z');
  const start = (local: string, zone = 'Europe/Oslo') =>
    startOf({ ...EMPTY, isLater: true, local, zone }, now);
  expect(start('2027-03-28T02:30')).toMatchObject({ problem: { reason: expect.stringContaining('skips') } });
  expect(start('2027-10-31T02:30')).toMatchObject({ problem: { reason: expect.stringContaining('twice') } });
  expect(start('2026-11-24T04:30')).toEqual({ problem: 'past' });
  expect(start('2027-05-01T09:00')).toEqual({ at: Date.parse('2027-05-01T07:00:00Z') });
  expect(start('2027-05-01T09:00', 'Asia/Kolkata')).toEqual({ at: Date.parse('2027-05-01T03:30:00Z') });
  expect(startOf(EMPTY, now)).toEqual({ at: null });
});
