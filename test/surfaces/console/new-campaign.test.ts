import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { inUtf8 as inUtf8OfCommandLine } from '../../../src/surfaces/cli/encoding.js';
import { EMPTY, startOf } from '../../../src/surfaces/console/screens/new/draft.js';
import { inUtf8 } from '../../../src/surfaces/console/screens/new/encoding.js';
import { segmentHint } from '../../../src/surfaces/console/screens/new/hints.js';
import {
  CsvSplitter,
  csvLine,
  delimiterOf,
  wholeRecords,
} from '../../../src/surfaces/console/screens/new/records.js';

async function* inParts(bytes: Uint8Array, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size));
}

/** What a reader makes of a file, or its error. */
async function read(reader: typeof inUtf8, bytes: Uint8Array, size: number) {
  const found = ['UTF-8'];
  const parts: Uint8Array[] = [];
  try {
    for await (const part of reader(inParts(bytes, size), (encoding) => void found.push(encoding)))
      parts.push(part);
  } catch (error) {
    return { error: (error as Error).message };
  }
  return {
    encoding: found.at(-1),
    text: Buffer.concat(parts)
      .toString()
      .replace(/^\ufeff/, ''),
  };
}

const LIST = `name,phone\n${'Ann,+447700900101\n'.repeat(10)}Zoë,+447700900102\nBø·s,+447700900103\n`;
// Some versions of Node read the bytes from 0x80 to 0x9f as Latin-1, which browsers do not.
const windows1252 = (text: string) => Buffer.from(text, 'latin1');
const FILES: Readonly<Record<string, Uint8Array>> = {
  'UTF-8': Buffer.from(LIST),
  'UTF-8 with a mark': Buffer.from(`\ufeff${LIST}`),
  ASCII: Buffer.from(LIST.replace(/[^\n -~]/g, '?')),
  'Windows-1252': windows1252(LIST),
  'UTF-16 LE': Buffer.from(`\ufeff${LIST}`, 'utf16le'),
  'UTF-16 LE without a mark': Buffer.from(LIST, 'utf16le'),
  'UTF-16 BE': Buffer.from(`\ufeff${LIST}`, 'utf16le').swap16(),
  'damaged UTF-16': Buffer.concat([
    Buffer.from(`\ufeff${LIST}`, 'utf16le'),
    Buffer.from([0x00, 0xd8, 0x41, 0x00]),
  ]),
  'mixed encodings': Buffer.concat([windows1252(LIST), Buffer.from('Zoë,1\n')]),
  'no encoding': Buffer.concat([windows1252(LIST), Buffer.from([0x81])]),
  'a short file': Buffer.from('to\nZo\xeb\n', 'latin1'),
  'an empty file': new Uint8Array(),
};

test.each(Object.entries(FILES))('The page reads %s as the command line does', async (_, bytes) => {
  const expected = await read(inUtf8OfCommandLine as typeof inUtf8, bytes, bytes.length || 1);
  for (const size of [1, 3, 7, 64, 1_000]) expect(await read(inUtf8, bytes, size)).toEqual(expected);
});

const MESSY = readFileSync(new URL('../../../examples/messy.csv', import.meta.url), 'utf8');

test('Records have the lines of the server and the rows of a spreadsheet, however the text is divided', () => {
  const split = (size: number) => {
    const splitter = new CsvSplitter(',');
    const records = [];
    for (let at = 0; at < MESSY.length; at += size)
      records.push(...splitter.push(MESSY.slice(at, at + size)));
    return [...records, ...splitter.push('', true)];
  };
  const whole = split(MESSY.length);
  for (const size of [1, 2, 5, 100]) expect(split(size)).toEqual(whole);
  // Line 10 is blank, and Isla's name has a line break in line 13.
  expect(whole.find(({ fields }) => fields[0] === 'Isla\nJones')).toMatchObject({ line: 13, row: 13 });
  expect(whole.find(({ fields }) => fields[0] === 'Jo Green')).toMatchObject({ line: 15, row: 14 });
  expect(whole.find(({ fields }) => fields[0] === 'Gus "Gus" Hill')).toMatchObject({ line: 11 });
});

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
