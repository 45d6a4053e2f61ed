import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { compileTemplate } from '../../../../src/campaign/text/template.js';
import { openFile } from '../../../../src/intake/import/open-file.js';
import { type RecipientInput, rowsOfObjects } from '../../../../src/intake/import/read-objects.js';
import {
  type CheckedRow,
  type CheckOptions,
  checkRows,
} from '../../../../src/intake/import/rows/check-rows.js';
import { withOptionalHeader } from '../../../../src/intake/import/rows/number-column.js';
import type { Rows } from '../../../../src/intake/import/rows/rows.js';

function csv(text: string): Promise<Rows> {
  return openFile(Readable.from([Buffer.from(text)]));
}

/** A list that is too long to be read to its end: only closing it ends it. */
function longCsv(start: string): Readable {
  return Readable.from(
    (function* () {
      yield Buffer.from(start);
      for (let i = 0; i < 1_000; i++) yield Buffer.from('x,y\n'.repeat(10_000));
    })(),
  );
}

async function check(list: Rows, options: CheckOptions & { text?: string } = {}) {
  const { text, ...rest } = options;
  const compiled = text === undefined ? undefined : compileTemplate(text, list.columns);
  if (compiled?.ok === false) throw new Error(compiled.reason);
  const checked = await checkRows(list, { defaultCountry: 'GB', template: compiled?.template, ...rest });
  const rows: CheckedRow[] = [];
  for await (const batch of checked.batches) rows.push(...batch);
  return { rows, counts: checked.counts(), column: checked.numberColumn, warnings: checked.warnings() };
}

describe('Checking a list', () => {
  it('classifies each row as a recipient, a duplicate, or invalid, with its line and a reason', async () => {
    const list = await csv(
      'name;phone\nAnna;07700 900123\nBo;+44 7700 900123\nCy;12345\n;07700 900124\nDi;07700 900125;x\nEli;0044 7700 900126\n',
    );
    const { rows, counts } = await check(list, { text: 'Hi {{name}}' });
    expect(rows).toEqual([
      {
        kind: 'recipient',
        line: 2,
        number: '+447700900123',
        values: ['Anna', '07700 900123'],
        reference: '',
      },
      {
        kind: 'duplicate',
        line: 3,
        number: '+447700900123',
        firstLine: 2,
        isSameText: false,
        reference: '',
      },
      {
        kind: 'invalid',
        line: 4,
        column: 'phone',
        code: 'invalidNumber',
        reason: '"12345" has 5 digits after +44; mobile numbers there have 10',
        row: ['Cy', '12345'],
        number: '12345',
        reference: '',
      },
      {
        kind: 'invalid',
        line: 5,
        column: 'name',
        code: 'noValue',
        reason: 'is empty, but the message uses {{name}}',
        row: ['', '07700 900124'],
        number: '+447700900124',
        reference: '',
      },
      {
        kind: 'invalid',
        line: 6,
        column: null,
        code: 'row',
        reason: 'has 3 fields, but the header has 2; put a field that contains the delimiter in quotes',
        row: ['Di', '07700 900125', 'x'],
        number: '+447700900125',
        reference: '',
      },
      {
        kind: 'recipient',
        line: 7,
        number: '+447700900126',
        values: ['Eli', '0044 7700 900126'],
        reference: '',
      },
    ]);
    expect(counts).toEqual({ rows: 6, recipientCount: 2, duplicates: 1, invalid: 3, differentTexts: 1 });
  });

  it('compares the texts, not the values, and only those of columns that the message uses', async () => {
    const rows = '07700900123,a,bc,1\n07700900123,ab,c,2\n07700900123,a,b,3\n07700900123,a,bc,4\n';
    const kinds = async (options: CheckOptions & { text?: string }) =>
      (await check(await csv(`phone,a,b,note\n${rows}`), options)).rows.map((row) => [
        row.kind,
        row.kind === 'invalid' ? undefined : row.firstLine,
        row.kind === 'duplicate' ? row.isSameText : undefined,
      ]);
    expect(await kinds({ text: '{{a}}{{b}}' })).toEqual([
      ['recipient', undefined, undefined],
      ['duplicate', 2, true],
      ['duplicate', 2, false],
      ['duplicate', 2, true],
    ]);
    expect(await kinds({ text: '{{a}}-{{b}}', duplicates: 'keep' })).toEqual([
      ['recipient', undefined, undefined],
      ['recipient', 2, undefined],
      ['recipient', 2, undefined],
      ['duplicate', 2, true],
    ]);
    expect((await kinds({ text: 'Hi', duplicates: 'keep' })).slice(1)).toEqual(
      Array.from({ length: 3 }, () => ['duplicate', 2, true]),
    );
  });

  it('keeps the valid row of a number whose first row was invalid', async () => {
    const list = await csv('name,phone\n,07700900123\nAnna,07700900123\n');
    const { rows } = await check(list, { text: 'Hi {{name}}' });
    expect(rows.map((row) => row.kind)).toEqual(['invalid', 'recipient']);
  });

  it.each([
    ['phone,name\n07700900123,"Ada\n07700900124,Bo\n07700900125,Cy"\n', 'lines 2 to 4'],
    ['phone,name,town\n07700900123,"Ada\n07700900124,Bo\n07700900125,Cy",York\n', 'lines 2 to 4'],
    ['phone;name\n07700900123;"Ada\n07700900124;Bo"\n', 'lines 2 to 3'],
    ['name,phone\n"Ada,07700900123\nBo",07700900124\n', 'lines 2 to 3'],
    ['name,phone\nEd,07700900122\n"Ada,07700900123\nBo,07700900124\nCy",12\n', 'lines 3 to 5'],
  ])('warns about a field that contains what look like rows: %j', async (text, lines) => {
    const { warnings, counts } = await check(await csv(text));
    expect(warnings).toEqual([
      `One row has a field with line breaks that contains what look like other rows: ${lines}. If these are rows of their own, correct the quotes.`,
    ]);
    expect(counts.rows).toBeLessThan(3);
  });

  it('does not warn about addresses, notes, and numbers in other places', async () => {
    const notes = '"12 High St,\nBath, 07700900124"\n07700900125,"call 07700900126,\n07700 900127 is old"';
    expect((await check(await csv(`phone,notes\n07700900123,${notes}\n`))).warnings).toEqual([]);
  });

  it.each(['reference,Reference,reference', 'Reference,REFERENCE,x'])(
    'refuses a reference that could be in several of the columns %s',
    async (columns) => {
      const list = await csv(`phone,${columns}\n07700900123,1,2,3\n`);
      await expect(check(list)).rejects.toThrow('Several columns are named "reference". Keep one of them');
    },
  );

  it('refuses a zone that could be in either of two columns', async () => {
    const list = await csv('phone,Zone,ZONE\n07700900123,Europe/London,America/New_York\n');
    const zones = {
      window: 'Mon-Fri 09:00-17:00',
      laneWindow: undefined,
      column: undefined,
      isFromNumber: true,
      from: 0,
    };
    await expect(check(list, { zones })).rejects.toThrow(
      'Several columns are named "zone". Keep one of them',
    );
  });

  it.each([
    ['half of a surrogate pair', 'A\ud83d', 'contains half of a surrogate pair, which is not a character'],
    ['a zero byte', 'A\0', 'contains a zero byte (NUL), which no text does'],
  ])('refuses a value with %s, such as that of an escape in a workbook', async (_, value, reason) => {
    async function* batches() {
      yield [{ line: 2, fields: ['07700900123', value], fault: null }];
    }
    const list = { columns: ['phone', 'name'], batches: batches(), close: () => {} };
    const { rows } = await check(list, { text: 'Hi {{name}}' });
    expect(rows).toMatchObject([{ kind: 'invalid', code: 'invalidValue', column: 'name', reason }]);
  });

  it('does not need values that the message does not use', async () => {
    const { counts } = await check(await csv('name,phone\n,07700900123\n'), { text: 'Hi all' });
    expect(counts.recipientCount).toBe(1);
  });

  it('accepts a list without rows', async () => {
    const { rows, counts } = await check(await csv('phone\n'));
    expect(rows).toEqual([]);
    expect(counts).toEqual({ rows: 0, recipientCount: 0, duplicates: 0, invalid: 0, differentTexts: 0 });
  });

  it('closes the file if the column or the country is refused', async () => {
    const source = longCsv('a,b\nx,y\n');
    await expect(checkRows(await openFile(source))).rejects.toThrow(
      'The column with the phone numbers is not clear',
    );
    await expect.poll(() => source.destroyed).toBe(true);
    await expect(checkRows(await csv('phone\n1\n'), { defaultCountry: 'UK' })).rejects.toThrow('use GB');
  });
});

describe('The column with the phone numbers', () => {
  it.each([
    'to',
    'Phone',
    'MOBILE',
    'msisdn',
    'Number',
    'recipient',
    'Telephone',
    'Mobile Phone',
    'phone_number',
    'Tlf.',
  ])('is found by its usual name: %s', async (name) => {
    const { column } = await check(await csv(`id,${name},other\n07700900001,07700900123,07700900124\n`));
    expect(column).toBe(name);
  });

  it('is found by its values if no column has a usual name', async () => {
    expect((await check(await csv('who,reach\nAnna,07700 900123\nBo,\n'))).column).toBe('reach');
  });

  it('is found by its values if two columns have usual names', async () => {
    expect((await check(await csv('number,mobile\n17,07700 900123\n18,+447700900124\n'))).column).toBe(
      'mobile',
    );
  });

  it('is the requested one, in upper or lower case', async () => {
    const text = 'phone,work\n07700900123,07700900124\n';
    expect((await check(await csv(text), { toColumn: 'work' })).column).toBe('work');
    expect((await check(await csv(text), { toColumn: ' WORK' })).column).toBe('work');
  });

  it('may have the name of another column', async () => {
    const text = 'phone,name,phone\n,Ada,07700900123\n';
    expect((await check(await csv(text))).column).toBe('phone (column 3)');
    const numbers = await csv(text.replace(',Ada', '07700900124,Ada'));
    await expect(check(numbers)).rejects.toThrow('("phone (column 1)", "phone (column 3)")');
  });

  it('is requested in an error that names the columns, if it is not clear', async () => {
    await expect(check(await csv('home,work\n07700900123,07700900124\n'))).rejects.toThrow(
      'The column with the phone numbers is not clear: several columns could contain them ("home", "work"). To name it, set `toColumn`. The columns are "home", "work".',
    );
    await expect(check(await csv('who,city\nAnna,Ry\n'))).rejects.toThrow(
      'no column contains only valid phone numbers. To name it, set `toColumn`. The columns are "who", "city".',
    );
    await expect(check(await csv('who,city\nAnna,Ry\n'), { toColumn: 'tel' })).rejects.toThrow(
      'There is no column "tel". The columns are "who", "city".',
    );
  });
});

describe('A list without a header', () => {
  it.each(['+447700900123\n+447700900124\n', '07700 900123\n07700 900124\n'])(
    'is refused, so that no recipient is taken for a column name: %j',
    async (text) => {
      await expect(check(await csv(text))).rejects.toThrow(/The header is missing.*such as phone\./s);
    },
  );

  it('is refused if the number is in the second column', async () => {
    await expect(check(await csv('Anna,+447700900123\nBo,+447700900124\n'))).rejects.toThrow(
      'The header is missing: line 1 contains the number +447700900123. Add a line above it that names the columns, such as phone,name.',
    );
  });

  it.each([
    '20123456',
    'tel:+4520123456',
    "'+4520123456",
    '="+4520123456"',
    '4.520123456E+9',
    '\u202d+4520123456',
  ])('is refused if line 1 begins with the number %s', async (number) => {
    const checking = csv(`${number},Anna\n20123457,Bo\n`).then((list) =>
      check(list, { defaultCountry: 'DK' }),
    );
    await expect(checking).rejects.toThrow('The header is missing: line 1 contains the number');
  });

  it('is not assumed if column names are years or dates, or one of them is a usual name', async () => {
    expect((await check(await csv('reach,2024-2025\n07700900123,x\n'))).column).toBe('reach');
    expect((await check(await csv('phone,447700900123\n07700900124,x\n'))).column).toBe('phone');
    const dated = await csv('reach,20241105\n20123457,19.50\n');
    expect((await check(dated, { defaultCountry: 'DK' })).column).toBe('reach');
  });

  it('is accepted for a suppression list, which may consist of numbers only', async () => {
    const first = [
      '+447700900123',
      '20123456',
      'tel:+447700900123',
      "'+447700900123",
      '="+447700900123"',
      '4.520123456E+9',
      '\u202d+447700900123\u202c',
      '٢٠١٢٣٤٥٦',
    ];
    for (const number of first) {
      const list = withOptionalHeader(await csv(`${number}\n+447700900124\n`));
      const { counts } = await check(list, { defaultCountry: 'DK' });
      expect([number, counts]).toMatchObject([number, { rows: 2, recipientCount: 2 }]);
    }
    // One that cannot be read is reported, not taken for a name.
    const misread = withOptionalHeader(await csv('4.477E+11\n+447700900124\n'));
    expect((await check(misread)).counts).toMatchObject({ rows: 2, recipientCount: 1, invalid: 1 });
    const named = withOptionalHeader(await csv('phone\n+447700900124\n'));
    expect((await check(named)).counts).toMatchObject({ rows: 1, recipientCount: 1 });
  });
});

describe('Recipients passed by code', () => {
  const people: RecipientInput[] = [
    { to: '07700 900123', name: 'Anna', visits: 3 },
    { name: 'Bo', to: '+447700900123', visits: 0 },
    { to: 'x', name: 'Cy', visits: 1 },
    { to: '07700 900124', name: undefined, visits: 1 },
  ];

  it('are checked like the rows of a file; their line is their position', async () => {
    const { rows, counts, column } = await check(await rowsOfObjects(people), {
      text: '{{name}}: {{visits}}',
    });
    expect(column).toBe('to');
    expect(rows.map((row) => [row.line, row.kind])).toEqual([
      [1, 'recipient'],
      [2, 'duplicate'],
      [3, 'invalid'],
      [4, 'invalid'],
    ]);
    expect(rows[0]).toMatchObject({ values: ['07700 900123', 'Anna', '3'] });
    expect(counts).toEqual({ rows: 4, recipientCount: 1, duplicates: 1, invalid: 2, differentTexts: 1 });
  });

  it('are duplicates if their numbers certainly belong to one subscriber', async () => {
    const numbers = [
      ...['+5215512345678', '+525512345678', '+551187654321', '+5511987654321'],
      ...['+551132654321', '+5511932654321', '+541123456789', '+5491123456789'],
    ];
    const { rows } = await check(await rowsOfObjects(numbers.map((to) => ({ to }))));
    expect(rows.map((row) => (row.kind === 'duplicate' ? row.firstLine : row.number))).toEqual([
      ...['+525512345678', 1, '+551187654321', 3],
      ...['+551132654321', '+5511932654321', '+541123456789', '+5491123456789'],
    ]);
  });

  it('may come from an async generator, which is read no further than needed and then closed', async () => {
    let yielded = 0;
    let ended = false;
    async function* endless(): AsyncGenerator<RecipientInput> {
      try {
        for (;;) yield { to: `0770${String(9_000_000 + yielded++)}` };
      } finally {
        ended = true;
      }
    }
    const checked = await checkRows(await rowsOfObjects(endless()), { defaultCountry: 'GB' });
    for await (const batch of checked.batches) {
      expect(batch).toHaveLength(1000);
      break;
    }
    expect(yielded).toBe(1000);
    expect(ended).toBe(true);
  });

  it('come from a generator that is closed when the loop is left early', async () => {
    let ended = false;
    function* endless(): Generator<RecipientInput> {
      try {
        for (;;) yield { to: '07700900123' };
      } finally {
        ended = true;
      }
    }
    for await (const batch of (await rowsOfObjects(endless())).batches) {
      expect(batch[0]).toEqual({ line: 1, fields: ['07700900123'], fault: null });
      break;
    }
    expect(ended).toBe(true);
  });

  it('come in batches that end by their size; a value or a text that is too long is an invalid row', async () => {
    const value = 'x'.repeat(4_900);
    const long = Array.from({ length: 200 }, () => ({ to: '07700900123', value }));
    const sizes: number[] = [];
    for await (const batch of (await rowsOfObjects(long)).batches) sizes.push(batch.length);
    expect(Math.max(...sizes)).toBeLessThan(60);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(200);

    const rows: RecipientInput[] = [
      { to: '07700900123', value: `${value}${value}` },
      { to: '07700900124', value },
      { to: '07700900125', value: 'x' },
    ];
    const reasons = async (text: string) =>
      (await check(await rowsOfObjects(rows), { text })).rows.map((row) =>
        row.kind === 'invalid' ? `${row.line} ${row.column} ${row.reason}` : row.kind,
      );
    expect(await reasons('{{value}}')).toEqual([
      '1 value has 9800 characters; the maximum is 5000',
      'recipient',
      'recipient',
    ]);
    expect((await reasons('{{value}}'.repeat(5))).slice(1)).toEqual([
      '2 null gets a text of 24500 characters; the maximum is 20000',
      'recipient',
    ]);
  });

  it('must not be empty', async () => {
    await expect(rowsOfObjects([])).rejects.toThrow('There are no recipients');
  });
});
