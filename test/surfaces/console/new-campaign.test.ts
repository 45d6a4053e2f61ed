import { expect, test } from 'vitest';
import { csvLine } from '../../../src/surfaces/console/base/csv-file.js';
import { EMPTY, startOf } from '../../../src/surfaces/console/screens/new/draft.js';
import { segmentHint } from '../../../src/surfaces/console/screens/new/hints.js';
import { columnsOf, wholeRecords } from '../../../src/surfaces/console/screens/new/list.js';

test('The beginning of a list ends with a complete record', () => {
  expect(wholeRecords('a,b\n1,2\n3,"x\ny')).toBe('a,b\n1,2\n');
  expect(wholeRecords('a,b\r\n1,"2""\r\n"\r\n3')).toBe('a,b\r\n1,"2""\r\n"\r\n');
  expect(wholeRecords('a;b\n5" pipe;2\n3;')).toBe('a;b\n5" pipe;2\n');
  expect(wholeRecords('a,b')).toBe('');
  // A quote that is wrong does not hide the rows below.
  expect(wholeRecords('a,b\n1,"2\n3,4\n5,"6"\n7,')).toBe('a,b\n1,"2\n3,4\n5,"6"\n');
});

test.each([
  ['phone,name\n1,2\n', ['phone', 'name']],
  ['"Tel, mobile";Name;"say ""hi"""\r\n', ['Tel, mobile', 'Name', 'say "hi"']],
  ['sep=;\r\na;b,c\r\n', ['a', 'b,c']],
  ['a\tb\t\n', ['a', 'b']],
  ['phone', ['phone']],
  ['', []],
])('The columns of a list that begins with %j are offered', (text, columns) => {
  expect(columnsOf(text)).toEqual(columns);
});

test('Values that are saved are quoted where a comma, a quote, or a line break requires it', () => {
  expect(csvLine(['plain', 'a,b', 'say "hi"', 'two\nlines', ''])).toBe(
    'plain,"a,b","say ""hi""","two\nlines",\r\n',
  );
});

test('A hint names the characters that need UCS-2, and has the text without them', () => {
  const text = 'Hi {{name}}, it’s here';
  expect(segmentHint(text)).toEqual({ characters: ['’'], other: text.replace('’', "'"), isSimple: true });
  expect(segmentHint(`${text}🌷`)).toEqual({
    characters: ['’', '🌷'],
    other: text.replace('’', "'"),
    isSimple: false,
  });
  expect(segmentHint("Hi {{näme’}}, it's here")).toBe(null);
});

test('A start that the zone skips, has twice, or that is over is refused', () => {
  const now = Date.parse('2026-11-24T04:00:00Z');
  const start = (local: string, zone = 'Europe/Oslo') =>
    startOf({ ...EMPTY, isLater: true, local, zone }, now);
  expect(start('2027-03-28T02:30')).toMatchObject({ problem: expect.stringContaining('skips') });
  expect(start('2027-10-31T02:30')).toMatchObject({ problem: expect.stringContaining('twice') });
  expect(start('2026-11-24T04:30')).toEqual({ problem: 'This time is in the past.' });
  expect(start('2027-05-01T09:00')).toEqual({ at: Date.parse('2027-05-01T07:00:00Z') });
  expect(start('2027-05-01T09:00', 'Asia/Kolkata')).toEqual({ at: Date.parse('2027-05-01T03:30:00Z') });
  expect(startOf(EMPTY, now)).toEqual({ at: null });
});
