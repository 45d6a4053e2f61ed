import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCsv } from '../../../src/intake/import/csv/read-csv.js';
import { CsvRecords, recordsOf } from '../../../src/intake/import/csv/records.js';
import type { Row, Rows } from '../../../src/intake/import/rows.js';
import { ListError } from '../../../src/intake/import/rows.js';

/** First rows so long that the rest of the file comes in chunks, after the part that is read to detect the dialect. */
const LONG = 'x'.repeat(4_900);
const LONG_ROWS = 15;

/** The bytes in chunks of the given size; the first one reaches to the end of the long rows, if there are any. */
function streamOf(bytes: string | Buffer, chunk = 1 << 16): Readable {
  const whole = Buffer.from(bytes);
  const first = Math.max(chunk, whole.lastIndexOf(LONG) + LONG.length);
  const chunks = [whole.subarray(0, first)];
  for (let at = first; at < whole.length; at += chunk) chunks.push(whole.subarray(at, at + chunk));
  return Readable.from(chunks);
}

async function all(list: Rows): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of list.batches) rows.push(...batch);
  return rows;
}

async function read(
  bytes: string | Buffer,
  chunk?: number,
): Promise<{ columns: readonly string[]; rows: Row[] }> {
  const list = await readCsv(streamOf(bytes, chunk));
  return { columns: list.columns, rows: await all(list) };
}

/** The message of the ListError that reading ends with. */
async function fault(bytes: string | Buffer, chunk?: number): Promise<string> {
  const error: unknown = await read(bytes, chunk).catch((reason: unknown) => reason);
  if (!(error instanceof ListError)) throw new Error(`no ListError, but ${String(error)}`);
  return error.message;
}

function good(line: number, ...fields: string[]): Row {
  return { line, fields, fault: null };
}

describe('Reading a CSV file', () => {
  const expected = { columns: ['phone', 'name'], rows: [good(2, '07700 900123', "O'Brien & Søn, Århus")] };

  it.each([
    ['commas', 'phone,name\n07700 900123,"O\'Brien & Søn, Århus"\n'],
    ['semicolons', "phone;name\n07700 900123;O'Brien & Søn, Århus\n"],
    ['tabs', "phone\tname\n07700 900123\tO'Brien & Søn, Århus\n"],
    ['a byte order mark', '\ufeffphone,name\n07700 900123,"O\'Brien & Søn, Århus"\n'],
    ['line ends of Windows (CRLF)', 'phone,name\r\n07700 900123,"O\'Brien & Søn, Århus"\r\n'],
    ['line ends of old Macs (CR)', 'phone,name\r07700 900123,"O\'Brien & Søn, Århus"\r'],
    ['a last line without a line end', 'phone,name\n07700 900123,"O\'Brien & Søn, Århus"'],
    ['quoted column names with semicolons', '"phone";"name"\n07700 900123;"O\'Brien & Søn, Århus"\n'],
    ['spaces around the column names', ' phone , name\n07700 900123,"O\'Brien & Søn, Århus"\n'],
  ])('accepts %s', async (_name, bytes) => {
    expect(await read(bytes)).toEqual(expected);
  });

  it('detects the delimiter from the header alone, outside its quotes', async () => {
    expect((await read('"a,b,c";d\n1;2\n')).columns).toEqual(['a,b,c', 'd']);
    expect((await read('"say ""a,b,c""";d\n1;2\n')).columns).toEqual(['say "a,b,c"', 'd']);
    expect((await read('size (");a,b;c\n1;2;3\n')).columns).toEqual(['size (")', 'a,b', 'c']);
    expect((await read('phone\n1,2\n')).rows[0]?.fault).toContain('has 2 fields');
  });

  it("takes the delimiter from Excel's sep line, if there is one", async () => {
    expect(await read('\ufeffsep=;\r\nphone;a,b,c,d\r\n1;2\r\n')).toEqual({
      columns: ['phone', 'a,b,c,d'],
      rows: [good(3, '1', '2')],
    });
  });

  it('keeps emoji, doubled quotes, line breaks, and spaces of a field as they are', async () => {
    expect((await read('a,b\n" x ","He said ""hi"" 🎉\r\nbye"\n  y,z  \n')).rows).toEqual([
      good(2, ' x ', 'He said "hi" 🎉\r\nbye'),
      { ...good(4, '  y', 'z  '), row: 3 },
    ]);
  });

  it('keeps a quote inside an unquoted field', async () => {
    expect((await read('a,b\n12" pizza,x\n')).rows).toEqual([good(2, '12" pizza', 'x')]);
  });
});

describe('The line numbers of rows', () => {
  it('are those of the file, whatever blank lines and line breaks come before', async () => {
    const bytes = '\n\na,b\r\n\r\n1,2\n"x\ny\r\nz",3\n,\n  \n4,5\r\n\n6,7';
    expect((await read(bytes)).rows.map((row) => [row.line, row.fields.at(-1)])).toEqual([
      [5, '2'],
      [6, '3'],
      [11, '5'],
      [13, '7'],
    ]);
  });

  it('are right for any table, in any dialect, in chunks of any size', async () => {
    const field = fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => text.replaceAll('\ufeff', ''));
    const special = fc.constantFrom(
      '',
      'a,b',
      'c;d',
      'e\tf',
      '"',
      'g"h',
      'i\nj',
      'k\r\nl',
      'm\rn',
      'Søn',
      '🎉',
    );
    const row = fc.tuple(
      fc.constantFrom('x', '"y"', 'z\n'),
      fc.oneof(field, special),
      fc.oneof(field, special),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 30 }),
        fc.constantFrom(',', ';', '\t'),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 40 }),
        async (rows, delimiter, end, chunk) => {
          const quoted = (text: string) =>
            /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
          const table = [...Array.from({ length: LONG_ROWS }, () => [LONG, 'p', 'q']), ...rows];
          const written = [['p', 'q', 'r'], ...table].map(
            (fields) => fields.map(quoted).join(delimiter) + end,
          );
          const expected = table.map((fields, i) => {
            const before = written.slice(0, i + 1).join('');
            const line = before.split(/\r\n|\n|\r/).length;
            const row = i + 2;
            return { ...good(line, ...fields), row: row === line ? undefined : row };
          });
          expect((await read(written.join(''), chunk)).rows).toEqual(expected);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('continue from batch to batch', async () => {
    const rows = Array.from({ length: 2_500 }, (_, i) => `${i},x`);
    const list = await readCsv(streamOf(`a,b\n${rows.join('\n')}\n`));
    const sizes: number[] = [];
    const lines: number[] = [];
    for await (const batch of list.batches) {
      sizes.push(batch.length);
      lines.push(...batch.map((row) => row.line));
    }
    expect(sizes).toEqual([999, 1000, 501]);
    expect(lines).toEqual(rows.map((_, i) => i + 2));
  });
});

describe('A row with a fault', () => {
  it('has too few or too many fields, and does not affect its neighbours', async () => {
    expect((await read('a,b\n1\n2,3\n4,5,6\n')).rows).toEqual([
      { line: 2, fields: ['1'], fault: 'has 1 field, but the header has 2' },
      good(3, '2', '3'),
      {
        line: 4,
        fields: ['4', '5', '6'],
        fault: 'has 3 fields, but the header has 2; put a field that contains the delimiter in quotes',
      },
    ]);
  });
});

describe('A file is refused if it', () => {
  it.each([
    ['is empty', '', 'The file is empty. It needs a header line and at least one row.'],
    ['holds blank lines only', '\n\n  \n', 'The file is empty. It needs a header line and at least one row.'],
    [
      'has a column without a name',
      '\na,,b\n',
      'Line 2: column 2 has no name. Name it or delete the column.',
    ],
    ['has a name twice', 'a,b, a\n', 'Line 1: two columns are named "a". Rename one of them.'],
    [
      'has more columns than a spreadsheet can have',
      `${Array.from({ length: 100_000 }, (_, at) => `c${at}`).join(',')}\n`,
      'Line 1: the header has 100000 columns; the maximum is 16384. Check the delimiter.',
    ],
    [
      'has a quote that is never closed',
      'a,b\n1,2\n3,"4\n5,6\n',
      'Line 3: a quoted field is never closed. Close the quote, or double it ("") if it is part of the text.',
    ],
    [
      'has a field that is too long',
      `a,b\n1,2\n\n"x\ny",${'z'.repeat(5_001)}\n`,
      'Line 4, column "b": the field has 5001 characters; the maximum is 5000. Shorten it, or close its quote if it contains other rows.',
    ],
    [
      'has a field that is too long behind its last column',
      `a\n1,${'z'.repeat(5_001)}\n`,
      'Line 2, field 2: the field has 5001 characters; the maximum is 5000. Shorten it, or close its quote if it contains other rows.',
    ],
    [
      'has a column name that is too long',
      `a,${'b'.repeat(6_000)}\n1,2\n`,
      'Line 1, field 2: the field has 6000 characters; the maximum is 5000. Shorten it, or close its quote if it contains other rows.',
    ],
    [
      'is a workbook',
      'PK\u0003\u0004xl/',
      'This is an Excel workbook, not a CSV file. Save the file as "CSV UTF-8" and try again.',
    ],
  ])('%s', async (_name, bytes, message) => {
    expect(await fault(bytes)).toBe(message);
  });

  it('ends batches by their size, and reads no further than one batch ahead', async () => {
    let written = 0;
    const row = `${'x'.repeat(4_900)},`.repeat(99);
    const source = Readable.from(
      (function* () {
        yield Buffer.from(`phone${',c'.repeat(99).replaceAll('c', () => `c${written++}`)}\n`);
        for (written = 0; written < 60; written++) yield Buffer.from(`1,${row.slice(0, -1)}\n`);
      })(),
    );
    let read = 0;
    for await (const batch of (await readCsv(source)).batches) {
      read += batch.length;
      expect(batch.length).toBe(1);
      // A row has half a megabyte. The source and the parser hold a few of them in their buffers.
      expect(written - read).toBeLessThan(25);
    }
    expect(read).toBe(60);
  });

  it('has an unclosed quote, without being read to the end', async () => {
    let chunks = 0;
    const long = Readable.from(
      (function* () {
        yield Buffer.from('a,b\n1,"');
        for (; ; chunks++) yield Buffer.from('x\n'.repeat(50_000));
      })(),
    );
    await expect(readCsv(long)).rejects.toThrow('Line 2: a quoted field is never closed');
    expect(chunks).toBeLessThan(100);
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

  it('ends in the middle of a character', async () => {
    expect(await fault(Buffer.from('name\nSø').subarray(0, -1))).toContain('Line 2 is not valid');
  });

  // Such files contain zero bytes near their start, as UTF-16 does.
  it.each([
    ['a workbook', 'UEsDBBQABgAIAAAAIQA=', 'This is an Excel workbook'],
    ['an old workbook', '0M8R4KGxGuEAAAAAAAAAAA==', 'This is an Excel workbook'],
    ['compressed with gzip', 'H4sIAAAAAAAAA0vLBAA=', 'This file is compressed with gzip. Decompress it'],
    ['a PDF', Buffer.from('%PDF-1.7\n\0').toString('base64'), 'This is a PDF'],
  ])('is %s', async (_what, bytes, message) => {
    expect(await fault(Buffer.from(bytes, 'base64'))).toContain(message);
  });

  it.each(['utf16le', 'utf16be'] as const)('is %s', async (encoding) => {
    const little = Buffer.from('\ufeffname\nAnna\n', 'utf16le');
    const bytes = encoding === 'utf16le' ? little : Buffer.from(little).swap16();
    expect(await fault(bytes)).toContain('This file is UTF-16');
    expect(await fault(bytes.subarray(2))).toContain('This file is UTF-16');
  });
});

describe('A file on disk', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'volley-rows-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('is read by its path', async () => {
    const path = join(folder, 'list.csv');
    await writeFile(path, 'to,name\n+4520123456,Åse\n');
    expect(await all(await readCsv(path))).toEqual([good(2, '+4520123456', 'Åse')]);
  });

  it('must not be a folder', async () => {
    await expect(readCsv(folder)).rejects.toThrow(
      `${folder} is a folder. Give the path of the CSV file itself.`,
    );
  });

  it('is named in the error if it does not exist', async () => {
    const path = join(folder, 'nowhere.csv');
    await expect(readCsv(path)).rejects.toThrow(`There is no file ${path}.`);
  });

  it('is closed if the reader leaves early, and if it is never read', async () => {
    const path = join(folder, 'long.csv');
    await writeFile(path, `a,b\n${'1,2\n'.repeat(200_000)}`);
    const left = createReadStream(path);
    for await (const batch of (await readCsv(left)).batches) {
      expect(batch.length).toBeGreaterThan(0);
      break;
    }
    await expect.poll(() => left.closed).toBe(true);
    const unread = createReadStream(path);
    (await readCsv(unread)).close();
    await expect.poll(() => unread.closed).toBe(true);
    const refused = Readable.from([Buffer.from('a,a\n1,2\n')]);
    await expect(readCsv(refused)).rejects.toThrow(ListError);
    expect(refused.destroyed).toBe(true);
  });
});

it('The parser makes no error for rows with other numbers of fields, each of which would take longer than the row', async () => {
  const parser = new CsvRecords(',', 1);
  parser.end('a,b,c\n1\n1,2\n1,2,3\n1,2,3,4\n');
  const widths: number[] = [];
  for await (const batch of recordsOf(parser)) widths.push(...batch.map(({ fields }) => fields.length));
  expect([widths, parser.info.invalid_field_length]).toEqual([[3, 1, 2, 3, 4], 0]);
});
