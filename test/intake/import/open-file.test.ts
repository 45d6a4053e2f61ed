import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFile } from '../../../src/intake/import/open-file.js';
import type { Row, Rows } from '../../../src/intake/import/rows/rows.js';
import { ListError } from '../../../src/intake/import/rows/rows.js';
import { NIGHTLY } from '../../base/parts.js';
import { LONG, LONG_ROWS, streamOf } from './csv/csv-stream.js';

async function all(list: Rows): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of list.batches) rows.push(...batch);
  return rows;
}

async function read(
  bytes: string | Buffer,
  chunk?: number,
): Promise<{ columns: readonly string[]; rows: Row[] }> {
  const list = await openFile(streamOf(bytes, chunk));
  return { columns: list.columns, rows: await all(list) };
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
    ['the delimiter in a line of its own', "sep=;\nphone;name\n07700 900123;O'Brien & Søn, Århus\n", 1],
    ['the same with line ends of old Macs', "sep=;\rphone;name\r07700 900123;O'Brien & Søn, Århus\r", 1],
    ['spaces around the column names', ' phone , name\n07700 900123,"O\'Brien & Søn, Århus"\n'],
  ])('accepts %s', async (_name, bytes, above = 0) => {
    const rows = expected.rows.map((row) => ({ ...row, line: row.line + above }));
    expect(await read(bytes)).toEqual({ ...expected, rows });
  });

  it('detects the delimiter from the header alone, outside its quotes', async () => {
    expect((await read('"a,b,c";d\n1;2\n')).columns).toEqual(['a,b,c', 'd']);
    expect((await read('"say ""a,b,c""";d\n1;2\n')).columns).toEqual(['say "a,b,c"', 'd']);
    expect((await read('size (");a,b;c\n1;2;3\n')).columns).toEqual(['size (")', 'a,b', 'c']);
    expect((await read('phone\n1,2\n')).rows[0]?.fault).toContain('has 2 fields');
  });

  it.each([
    ['\n', 'Members, 25 November\n\nphone;name\n+4791234567;Ada\n'],
    ['\r\n', '\ufeffMembers, 25 November\r\n\r\nphone;name\r\n+4791234567;Ada\r\n'],
    ['\r', 'Members, 25 November\r\rphone;name\r+4791234567;Ada\r'],
  ])('takes the header from the line that a person names, with line ends %j', async (_ends, text) => {
    const choice = { headerLine: 3 };
    const list = await openFile(streamOf(text), { choice });
    expect(list.columns).toEqual(['phone', 'name']);
    expect(await all(list)).toEqual([good(4, '+4791234567', 'Ada')]);
    await expect(openFile(streamOf('a\n1\n'), { choice })).rejects.toThrow(
      'The file has no line 3 that could be the header.',
    );
  });

  it("takes the delimiter from Excel's sep line, if there is one", async () => {
    expect(await read('\ufeffsep=;\r\nphone;a,b,c,d\r\n1;2\r\n')).toEqual({
      columns: ['phone', 'a,b,c,d'],
      rows: [good(3, '1', '2')],
    });
  });

  it('keeps emoji, doubled quotes, line breaks, and spaces of a field as they are', async () => {
    expect((await read('a,b\n" x ","He said ""hi"" 🎉\r\nbye"\n  y,z  \n')).rows).toEqual([
      {
        ...good(2, ' x ', 'He said "hi" 🎉\r\nbye'),
        lines: [['" x "', '"He said ""hi"" 🎉'], ['bye"']],
      },
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
          const { rows: found } = await read(written.join(''), chunk);
          expect(found.map(({ lines: _, ...row }) => row)).toEqual(expected);
        },
      ),
      { numRuns: NIGHTLY ? 100 : 25 },
    );
  });

  it('continue from batch to batch', async () => {
    const rows = Array.from({ length: 2_500 }, (_, i) => `${i},x`);
    const list = await openFile(streamOf(`a,b\n${rows.join('\n')}\n`));
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

it('A batch ends by its size, and the file is read no further than one batch ahead', async () => {
  let written = 0;
  const row = `${'x'.repeat(4_900)},`.repeat(99);
  const source = Readable.from(
    (function* () {
      yield Buffer.from(`phone${',c'.repeat(99).replaceAll('c', () => `c${written++}`)}\n`);
      for (written = 0; written < 60; written++) yield Buffer.from(`1,${row.slice(0, -1)}\n`);
    })(),
  );
  let read = 0;
  for await (const batch of (await openFile(source)).batches) {
    read += batch.length;
    expect(batch.length).toBe(1);
    // A row has half a megabyte. The source and the parser hold a few of them in their buffers.
    expect(written - read).toBeLessThan(25);
  }
  expect(read).toBe(60);
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

  it('has a field that is too long', async () => {
    const long = 'z'.repeat(5_001);
    const { rows } = await read(`a,b\n"x\ny",${long}\n1,2\n1,2,${long}\n`);
    expect(rows.map(({ fault }) => fault)).toEqual([
      'has a field in column "b" that has 5001 characters; the maximum is 5000; because of its quotes, it ends on line 3',
      null,
      'has 3 fields, but the header has 2; put a field that contains the delimiter in quotes',
    ]);
  });
});

describe('Delimiters at the ends of lines', () => {
  const rows = [good(2, '1', '2'), good(3, '3', '')];
  it.each([
    ['the header', 'a,b,,\n1,2\n3,\n'],
    ['the rows', 'a,b\n1,2,\n3,, ,\n'],
    ['all lines', 'a;b;;\n1;2;;\n3;;;\n'],
  ])('of %s mean nothing', async (_where, bytes) => {
    expect(await read(bytes)).toEqual({ columns: ['a', 'b'], rows });
  });

  it('make a row invalid that has a value in a column without a name', async () => {
    expect((await read('a,b,,\n1,2,,x\n')).rows[0]?.fault).toBe(
      'has a value in field 4, but that column has no name; name it in the header, or delete it',
    );
  });
});

it('Columns of the same name get their positions as a part of it', async () => {
  expect((await read('phone,notes,town,notes\n1,2,3,4\n')).columns).toEqual([
    'phone',
    'notes (column 2)',
    'town',
    'notes (column 4)',
  ]);
});

describe('A quote that is wrong makes one line invalid, and hides no other:', () => {
  const header = 'phone,name,town';
  const open = 'opens a quote in column "town", and';
  const advice = 'close the quote, or leave it out';
  it.each([
    [
      'one that opens by mistake, before a quoted field',
      `${header}\n1,Ada,"Bath\n2,Bo,Leeds\n3,Cy,York\n4,Di,"Hull"\n5,Ed,Ely\n`,
      [2, `${open} the next quote, on line 5, does not close it; ${advice}`],
      5,
    ],
    [
      'one that is never closed',
      `${header}\n1,Ada,Bath\n2,Bo,"Leeds\n3,Cy,York\n`,
      [3, `${open} does not close it; ${advice}`],
      3,
    ],
    [
      'one that is closed more than 5,000 characters later',
      `${header}\n1,Ada,"Bath\n${'2,Bo,Leeds\n'.repeat(600)}3,Cy,York"\n`,
      [2, `${open} does not close it within 5,000 characters; ${advice}`],
      602,
    ],
    [
      'one inside a quoted field that is not doubled',
      `${header}\n1,Ada,"He said "hi" there"\n2,Bo,Leeds\n`,
      [2, 'has a quote inside the quotes of column "town" that is not doubled; write it twice ("")'],
      2,
    ],
    [
      'one that is closed before a space',
      `${header}\n1,Ada,"Bath" \n2,Bo,Leeds\n`,
      [2, 'has a quote inside the quotes of column "town" that is not doubled; write it twice ("")'],
      2,
    ],
    [
      'one behind a field with a line break',
      `${header}\n1,"Ada\nL.","Bath\n2,Bo,"Leeds"\n`,
      [
        2,
        `${open} the next quote, on line 4, does not close it; ${advice}; because of its quotes, it ends on line 3`,
      ],
      2,
    ],
  ])('%s', async (_what, bytes, [line, reason], count) => {
    for (const chunk of [1, 7, 1 << 16]) {
      const { rows } = await read(bytes, chunk);
      expect(rows).toHaveLength(count);
      const invalid = rows.filter(({ fault }) => fault !== null);
      expect(invalid.map((row) => [row.line, row.fault])).toEqual([[line, reason]]);
    }
  });

  it('anywhere in any list without line breaks in its fields', async () => {
    const cell = fc.constantFrom('a', 'b c', '', '"q"', '"r;s"', '"t""u"');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 12 }),
        fc.nat(),
        fc.integer({ min: 1, max: 30 }),
        async (table, at, chunk) => {
          const wrong = at % table.length;
          const lines = table.map(([first, second, third], index) =>
            [first, index === wrong ? '"x' : second, third].join(','),
          );
          const long = Array.from({ length: LONG_ROWS }, () => `${LONG},,`);
          const { rows } = await read(`p,q,r\n${[...long, ...lines].join('\n')}\n`, chunk);
          const lineOfWrong = 2 + LONG_ROWS + wrong;
          const sound = rows.filter(({ fault }) => fault === null).map(({ line }) => line);
          const expected = [...long, ...lines].map((_, index) => index + 2);
          // Rows that have only delimiters are none.
          const blank = lines.flatMap((line, index) => (line === ',,' ? [2 + LONG_ROWS + index] : []));
          expect(sound).toEqual(expected.filter((line) => line !== lineOfWrong && !blank.includes(line)));
        },
      ),
      { numRuns: NIGHTLY ? 200 : 50 },
    );
  });

  it('and takes about as long as other lines, however often it occurs', async () => {
    const timeOf = async (bytes: string): Promise<number> => {
      const start = process.cpuUsage();
      await read(`a,b,c\n${bytes}`);
      return process.cpuUsage(start).user;
    };
    const usual = await timeOf('1,2,"3"\n'.repeat(100_000));
    const lines = [
      '1,2,"3\n',
      '"""\n',
      '1,"2""3\n',
      `${',""\n'.repeat(1_000)}1,2,"3\n`,
      '"",'.repeat(10_000),
    ];
    for (const line of lines)
      expect([line.slice(0, 9), await timeOf(line.repeat(800_000 / line.length))]).toEqual([
        line.slice(0, 9),
        expect.toSatisfy((time: number) => time < 10 * usual),
      ]);
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
    expect(await all(await openFile(path))).toEqual([good(2, '+4520123456', 'Åse')]);
  });

  it('must not be a folder', async () => {
    await expect(openFile(folder)).rejects.toThrow(`The path ${folder} is a folder, not a file.`);
  });

  it('is named in the error if it does not exist', async () => {
    const path = join(folder, 'nowhere.csv');
    await expect(openFile(path)).rejects.toThrow(`There is no file ${path}.`);
  });

  it('is closed if the reader leaves early, and if it is never read', async () => {
    const path = join(folder, 'long.csv');
    await writeFile(path, `a,b\n${'1,2\n'.repeat(200_000)}`);
    const left = createReadStream(path);
    for await (const batch of (await openFile(left)).batches) {
      expect(batch.length).toBeGreaterThan(0);
      break;
    }
    await expect.poll(() => left.closed).toBe(true);
    const unread = createReadStream(path);
    (await openFile(unread)).close();
    await expect.poll(() => unread.closed).toBe(true);
    const refused = Readable.from([Buffer.from('a,,b\n1,2,3\n')]);
    await expect(openFile(refused)).rejects.toThrow(ListError);
    expect(refused.destroyed).toBe(true);
  });
});
