import { describe, expect, it } from 'vitest';
import { openFile } from '../../../src/intake/import/open-file.js';
import { ListError } from '../../../src/intake/import/rows/rows.js';
import { LONG, LONG_ROWS, streamOf } from './csv/csv-stream.js';

/** The message of the ListError that reading ends with. */
async function fault(bytes: string | Buffer, chunk?: number): Promise<string> {
  const reading = openFile(streamOf(bytes, chunk)).then(async ({ batches }) => {
    for await (const _ of batches);
  });
  const error: unknown = await reading.catch((reason: unknown) => reason);
  if (!(error instanceof ListError)) throw new Error(`no ListError, but ${String(error)}`);
  return error.message;
}

describe('A file is refused if it', () => {
  it.each([
    ['is empty', '', 'The file is empty. It needs a header line and at least one row.'],
    ['holds blank lines only', '\n\n  \n', 'The file is empty. It needs a header line and at least one row.'],
    [
      'has a column without a name',
      '\na,,b\n',
      'Line 2, the header: column 2 has no name. Name it or delete the column.',
    ],
    [
      'has a name twice, even with the positions of its columns',
      'a,b, a,a (column 1)\n',
      'Line 1: two columns are named "a (column 1)". Rename one of them.',
    ],
    [
      'has more columns than a spreadsheet can have',
      `${Array.from({ length: 100_000 }, (_, at) => `c${at}`).join(',')}\n`,
      'Line 1: the header has 100000 columns; the maximum is 16384. Check the delimiter.',
    ],
    [
      'has a quote in its header that is never closed',
      'phone,"name\n+447700900123,Ada\n',
      'Line 1, the header, opens a quote in field 2, and does not close it; close the quote, or leave it out.',
    ],
    [
      'has a row of more than a million characters',
      `a,b\n1,${'2'.repeat(1_200_000)}`,
      'Line 2 is longer than 1,000,000 characters. Check that each row is on a line of its own.',
    ],
    [
      'has a column name that is too long',
      `a,${'b'.repeat(6_000)}\n1,2\n`,
      'Line 1: the name of column 2 has 6000 characters; the maximum is 5000. Check the delimiter.',
    ],
    [
      'has a zero byte',
      'a,b\n1,2\n3,\0\n',
      'Line 3 contains a zero byte (NUL), which no text does: the file is damaged. Export it again.',
    ],
    [
      'has a zero byte behind the part in which its dialect is detected',
      `a\n${`${LONG}\n`.repeat(LONG_ROWS)}\0`,
      'Line 17 contains a zero byte (NUL), which no text does: the file is damaged. Export it again.',
    ],
    [
      'has a title above its header',
      'Members\n\nphone,name,town\n+447700900123,Ada,Bath\n',
      'The header seems to be on line 3 ("phone", "name", "town"), not on line 1. Delete everything above line 3.',
    ],
    [
      'has a title with the delimiters of a table above its header',
      'Members;;\n25 November;;\nMobile;Name;Town\n07700 900123;Ada;Bath\n',
      'The header seems to be on line 3 ("Mobile", "Name", "Town"), not on line 1. Delete everything above line 3.',
    ],
  ])('%s', async (_name, bytes, message) => {
    expect(await fault(bytes)).toBe(message);
  });

  it('is not UTF-8, and the error names the line', async () => {
    const latin1 = Buffer.from('name\nAnna\n"two\nlines"\nSøren\nÅse\n', 'latin1');
    const message = 'Line 5 is not valid UTF-8. Save the file as "CSV UTF-8" and try again.';
    for (const chunk of [1, 2, 7, 1000]) {
      expect(await fault(latin1, chunk)).toBe(message);
      expect(
        await fault(Buffer.concat([Buffer.from(`name\n${`${LONG}\n`.repeat(LONG_ROWS)}`), latin1]), chunk),
      ).toContain('Line 21 is not valid');
    }
  });

  it.each(['\r', '\r\n', '\n'])('is not UTF-8 in a line of a file with the line ends %j', async (end) => {
    const lines = ['name', 'Anna', '', 'Søren', 'Åse', ''].join(end);
    for (const chunk of [1, 2, 3, 1000])
      expect(await fault(Buffer.from(lines, 'latin1'), chunk)).toContain('Line 4 is not valid');
    for (const chunk of [1, 2, 3, 1000])
      expect(await fault(Buffer.from(lines.replace('ø', '\0').replace('Å', 'A')), chunk)).toContain(
        'Line 4 contains a zero byte',
      );
  });

  it('ends in the middle of a character', async () => {
    expect(await fault(Buffer.from('name\nSø').subarray(0, -1))).toContain('Line 2 is not valid');
  });

  it.each([
    [
      'PK\x03\x04\x14\0\0\x08\0\0xxxxxxxxxxxxxxxx\x08\0\0\0mimetypeapplication/vnd.oasis.opendocument.s',
      'an OpenDocument file (.ods)',
    ],
    ['PK\x03\x04\x14\0\0\0\0\0xxxxxxxxxxxxxxxx\x12\0\0\0Index/Document.iwa', 'a Numbers document'],
    ['PK\x03\x04\x14\0\0\0\0\0xxxxxxxxxxxxxxxx\x08\0\0\0list.csv', 'a ZIP archive'],
    [
      '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0',
      'an Excel workbook of an old version (.xls), or with a password',
    ],
    ['\x1f\x8b\x08\0\0\0\0\0', 'compressed with gzip'],
    ['%PDF-1.7\n\0', 'a PDF'],
    ['<html xmlns:x="urn:schemas-microsoft-com:office:excel"><table>', 'a web page or XML'],
    ['\n<?xml version="1.0"?><Workbook>', 'a web page or XML'],
    ['{\\rtf1\\ansi', 'a text document (RTF)'],
    ['BEGIN:VCARD\nTEL:+447700900123\n', 'a file of contacts (vCard)'],
    ['[{"to":"+447700900123"}]', 'JSON'],
  ])('is another file: %j', async (bytes, what) => {
    const message = await fault(Buffer.from(bytes, 'latin1'));
    expect(message).toContain(`This file is ${what}, not CSV. `);
    expect(message).toMatch(/CSV|Decompress/);
  });

  it.each(['utf16le', 'utf16be'] as const)('is %s', async (encoding) => {
    const little = Buffer.from('\ufeffname\nAnna\n', 'utf16le');
    const bytes = encoding === 'utf16le' ? little : Buffer.from(little).swap16();
    expect(await fault(bytes)).toContain('This file is UTF-16');
    expect(await fault(bytes.subarray(2))).toContain('This file is UTF-16');
  });
});
