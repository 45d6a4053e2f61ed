import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readSheet } from '../../../../src/intake/import/excel/sheet.js';
import { openFile } from '../../../../src/intake/import/open-file.js';
import { ListError, type Row, type Rows } from '../../../../src/intake/import/rows/rows.js';
import { NIGHTLY } from '../../../base/parts.js';
import { streamOf } from '../csv/csv-stream.js';
import { textRow, workbookOf } from './workbook.js';

const file = (name: string): string => new URL(name, import.meta.url).pathname;

async function all({ batches }: Rows): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of batches) rows.push(...batch);
  return rows;
}

async function read(bytes: Buffer, choice = {}) {
  const list = await openFile(streamOf(bytes), { choice });
  return { ...list, rows: await all(list) };
}

const sheetOf = (...rows: string[]) => ({ sheets: [{ name: 'List', rows: rows.join('') }] });
const header = textRow(1, 'phone', 'value');
/** The text of a cell in the second column, with this XML, and what is warned about. */
async function cellValue(cell: string, parts: Omit<Parameters<typeof workbookOf>[0], 'sheets'> = {}) {
  const row = `<row r="2"><c r="A2"><v>4791234567</v></c>${cell}</row>`;
  const { rows, warnings } = await read(workbookOf({ ...sheetOf(header, row), ...parts }));
  return { text: rows[0]?.fields[1], unusable: rows[0]?.unusable?.get(1), warnings };
}

describe('A workbook of LibreOffice', () => {
  test('is read as a CSV of its values is, with the lines of the sheet', async () => {
    const list = await openFile(file('libreoffice.xlsx'), { choice: { headerLine: 3 } });
    expect(list.columns).toEqual(['phone', 'name', 'discount', 'until', 'postcode']);
    expect(await all(list)).toEqual([
      { line: 4, fault: null, fields: ['4791234567', 'Åse & Søn, “VIP”', '0.25', '2030-05-01', '150'] },
      { line: 5, fault: null, fields: ['4791234568', 'Bo', '0.5', '2030-05-02', '5003'] },
      {
        line: 7,
        fault: null,
        fields: ['4791234569', 'Cy', '#VALUE!', '2030-05-03T09:30', '1'],
        unusable: new Map([[2, 'has the error #VALUE!; correct it in Excel']]),
      },
      { line: 8, fault: null, fields: ['4.79123E+10', '', 'TRUE', '', ''] },
    ]);
  });

  test('has warnings for all that a person sees in another way', async () => {
    const { warnings, sheet, sheets, close } = await openFile(file('libreoffice.xlsx'), {
      choice: { headerLine: 3 },
    });
    close();
    expect([sheet, sheets]).toEqual(['Customers', ['Customers', 'Archive']]);
    expect(warnings).toEqual([
      'The list is the first sheet, "Customers". The workbook also has "Archive". To read another one, set `sheet`.',
      'In column "discount", 2 cells show something else than the value, which is used: "25%" for 0.25 on line 4, "50%" for 0.5 on line 5. To use what Excel shows, write it as text.',
      'In column "postcode", 2 cells show something else than the value, which is used: "0150" for 150 on line 4, "0001" for 1 on line 7. To use what Excel shows, write it as text.',
      'Only the first of merged cells has a value, and the others are empty: B7:B8 (1 in all).',
      '1 row is hidden in Excel, and part of the list: line 5. To leave hidden rows out, delete them.',
      '1 row is empty, and skipped: line 6.',
    ]);
  });

  test('has its header offered if a title is above it', async () => {
    const reading = openFile(file('libreoffice.xlsx'), { choice: {} });
    await expect(reading).rejects.toThrow(
      'The header seems to be on line 3 ("phone", "name", "discount", "until", "postcode"), not on line 1. Set `headerLine` to `3`, or delete everything above it.',
    );
    await expect(reading).rejects.toMatchObject({ errors: [{ pointer: '/recipients', line: 3 }] });
  });
});

describe('The sheet of a workbook', () => {
  const two = workbookOf({
    sheets: [
      { name: 'Lookup', state: 'hidden', rows: textRow(1, 'secret') },
      { name: 'List', rows: textRow(1, 'phone') + textRow(2, '+4791234567') },
      { name: 'Old &amp; gone', rows: textRow(1, 'to') + textRow(2, '+4791234568') },
    ],
  });

  test('is the first that is not hidden', async () => {
    expect((await read(two)).rows).toMatchObject([{ line: 2, fields: ['+4791234567'] }]);
  });

  test('can be chosen by its name', async () => {
    const { columns, rows, sheets, warnings } = await read(two, { sheet: 'old & gone' });
    expect([columns, rows[0]?.fields, warnings]).toEqual([['to'], ['+4791234568'], []]);
    expect(sheets).toEqual(['List', 'Old & gone']);
  });

  test('must exist', async () => {
    await expect(read(two, { sheet: 'New' })).rejects.toThrow(
      'There is no sheet "New". The sheets are "List", "Old & gone".',
    );
  });

  test('is nothing that a CSV has', async () => {
    await expect(openFile(streamOf('phone\n1\n'), { choice: { sheet: 'List' } })).rejects.toThrow(
      'The file is CSV, which has no sheets. Leave `sheet` out.',
    );
  });
});

describe('A cell of Excel', () => {
  test.each([
    ['47911111111', '47911111111'],
    ['4.7911111111E10', '47911111111'],
    ['9007199254740991', '9007199254740991'],
    ['0.30000000000000004', '0.3'],
    ['-1.5', '-1.5'],
  ])('with the number %s is %s', async (raw, text) => {
    expect((await cellValue(`<c r="B2"><v>${raw}</v></c>`)).text).toBe(text);
  });

  test('with a text of a formula has the characters that Excel escapes', async () => {
    const cell = '<c r="B2" t="str"><f>A2</f><v>Dear_x000D_\n_x005F_x0041_</v></c>';
    expect((await cellValue(cell)).text).toBe('Dear\r\n_x0041_');
  });

  test('with more than 15 digits has a warning', async () => {
    expect(await cellValue('<c r="B2"><v>12345678901234567</v></c>')).toMatchObject({
      text: '12345678901234567',
      warnings: ['Excel keeps only 15 digits of a number; longer ones are on line 2. Write them as text.'],
    });
  });

  test.each([
    ['d/m/yyyy', '47604', '2030-05-01'],
    ['[$-414]d. mmmm yyyy;@', '47604.75', '2030-05-01T18:00'],
    ['hh:mm', '0.375', '09:00'],
  ])('with the format %s is a date or a time in ISO 8601', async (format, raw, text) => {
    expect(await cellValue(`<c r="B2" s="1"><v>${raw}</v></c>`, { formats: [format] })).toEqual({
      text,
      warnings: [],
    });
  });

  test('of a workbook that counts from 1904 has the right date', async () => {
    const cell = '<c r="B2" s="1"><v>46142</v></c>';
    expect((await cellValue(cell, { formats: ['yyyy'], is1904: true })).text).toBe('2030-05-01');
  });

  test.each([
    ['0.00%', '0.255', '0.255', '"25.50%" for 0.255'],
    ['#,##0.00 "kr"', '1234.5', '1234.5', '"1,234.50 kr" for 1234.5'],
    ['[h]:mm', '1.5', '1.5', '"36:00" for 1.5'],
    ['00000', '150', '150', '"00150" for 150'],
  ])('with the format %s has a warning that shows both', async (format, raw, text, both) => {
    expect(await cellValue(`<c r="B2" s="1"><v>${raw}</v></c>`, { formats: [format] })).toMatchObject({
      text,
      warnings: [
        `In column "value", 1 cell shows something else than the value, which is used: ${both} on line 2. To use what Excel shows, write it as text.`,
      ],
    });
  });

  test('that may be a phone number is not shown in a warning', async () => {
    const { warnings } = await cellValue('<c r="B2" s="1"><v>4791234567</v></c>', { formats: ['+0'] });
    expect(warnings).toEqual([expect.stringContaining('which is used: on line 2.')]);
  });

  test('has the text that it shows: runs, escapes, and no phonetic hint', async () => {
    const strings = [
      '<r><t>Å</t></r><r><rPr><b/></rPr><t xml:space="preserve">se </t></r><rPh sb="0" eb="1"><t>x</t></rPh>',
      '<t>a_x000A_b_x005F_c &amp; 1</t>',
    ];
    expect((await cellValue('<c r="B2" t="s"><v>0</v></c>', { strings })).text).toBe('Åse ');
    expect((await cellValue('<c r="B2" t="s"><v>1</v></c>', { strings })).text).toBe('a\nb_c & 1');
    expect((await cellValue('<c r="B2" t="str"><f>A1</f><v>hey</v></c>')).text).toBe('hey');
    expect((await cellValue('<c r="B2" t="b"><v>0</v></c>')).text).toBe('FALSE');
  });

  test('without a usable value says so', async () => {
    expect((await cellValue('<c r="B2" t="e"><v>#N/A</v></c>')).unusable).toBe(
      'has the error #N/A; correct it in Excel',
    );
    expect((await cellValue('<c r="B2"><f>1+1</f></c>')).unusable).toBe(
      'has a formula without a result; open the workbook in Excel, and save it',
    );
  });

  test('lies where its reference says, also behind the header', async () => {
    const row = '<row r="7"><c r="A7"><v>1</v></c><c r="C7"><v>2</v></c></row>';
    const { rows } = await read(workbookOf(sheetOf(header, row)));
    expect(rows).toMatchObject([
      { line: 7, fault: expect.stringContaining('has 3 fields, but the header has 2') },
    ]);
  });
});

describe('A workbook that is no list', () => {
  const refused = async (bytes: Buffer, choice = {}): Promise<string> => {
    const error: unknown = await read(bytes, choice).catch((thrown: unknown) => thrown);
    if (!(error instanceof ListError)) throw error;
    return error.message;
  };

  test('is refused with a password', async () => {
    await expect(openFile(file('protected.xlsx'))).rejects.toThrow(
      'This file is an Excel workbook with a password, not CSV. In Excel, remove the password, and save it again.',
    );
  });

  test('is refused if it is a bomb, whatever its archive says', async () => {
    const small = sheetOf(header, textRow(2, '+4791234567', 'x'));
    expect(await refused(workbookOf({ ...small, declared: 400_000_000 }))).toContain(
      'more than 300 MB when it is unpacked',
    );
    const large = sheetOf(header, textRow(2, '+4791234567', ' '.repeat(1_000_000)));
    expect(await refused(workbookOf({ ...large, declared: 1_000 }))).toContain('This file is damaged');
  });

  test('is refused with more columns than Excel has', async () => {
    const row = `<row r="1">${'<c><v>1</v></c>'.repeat(16_385)}</row>`;
    expect(await refused(workbookOf(sheetOf(row)))).toBe(
      'Line 1 has a cell beyond column XFD, the last one that Excel has. Delete what is not part of the list.',
    );
  });

  test('is refused with more rows than it may have', async () => {
    const rows = '<row><c><v>4791234567</v></c></row>'.repeat(200_002);
    const archive = {
      has: () => true,
      async *read() {
        yield `<worksheet><sheetData>${rows}`;
      },
    };
    let read = 0;
    const events = {
      row() {
        read += 1;
      },
      merged() {},
    };
    await expect(readSheet(archive, 'sheet', [], events)).rejects.toThrow(
      'The sheet has more than 200,000 rows. In Excel, save it as "CSV UTF-8".',
    );
    expect(read, 'the header and the rows that it may have').toBe(200_001);
  });

  test.runIf(NIGHTLY)('may have 200,000 rows', async () => {
    const row = '<row><c><v>4791234567</v></c></row>';
    const most = workbookOf(sheetOf(textRow(1, 'phone'), row.repeat(200_000)));
    expect((await read(most)).rows).toHaveLength(200_000);
    const more = workbookOf(sheetOf(textRow(1, 'phone'), row.repeat(200_001)));
    expect(await refused(more)).toContain('The sheet has more than 200,000 rows.');
  });

  test('is refused if it is cut off, or not XML', async () => {
    const whole = workbookOf(sheetOf(header));
    expect(await refused(whole.subarray(0, -30))).toContain('This file is damaged');
    expect(await refused(workbookOf(sheetOf('<row><c></row>')))).toContain('This file is damaged');
    expect(await refused(workbookOf(sheetOf('<row><c><v>&bomb;</v></c></row>')))).toContain(
      'This file is damaged',
    );
  });

  test('is refused beyond 20 MB', async () => {
    const bytes = Buffer.concat([workbookOf(sheetOf(header)), Buffer.alloc(20_000_000)]);
    expect(await refused(bytes)).toContain('The limit for an Excel workbook is 20 MB.');
  });
});

test('Nothing remains of a workbook in the folder for temporary files', async () => {
  await read(workbookOf(sheetOf(header, textRow(2, '1', '2'))));
  expect((await readdir(tmpdir())).filter((name) => name.startsWith('volley-list-'))).toEqual([]);
});

test('What reads workbooks is loaded only for them', async () => {
  const script = `import { openFile } from './dist/src/intake/import/open-file.js'; import { Readable } from 'node:stream';
    await openFile(Readable.from([Buffer.from('a\\n1\\n')])); console.log(process.moduleLoadList.includes('NativeModule child_process'));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout).toBe('false\n');
});
