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
/** The rows of a sheet with these cells behind the number of each row, and what is warned about. */
async function cells(
  given: readonly string[],
  parts: Omit<Parameters<typeof workbookOf>[0], 'sheets'> = {},
  first = header,
) {
  const lines = given.map((cell, at) => `<row r="${at + 2}"><c><v>4791234567</v></c>${cell}</row>`);
  const { rows, warnings } = await read(workbookOf({ ...sheetOf(first, ...lines), ...parts }));
  return { rows, texts: rows.map(({ fields }) => fields[1]), warnings };
}
/** A cell with the number `raw` in the format of this position, from 1; 0: General. */
const numberIn = (format: number, raw: string): string => `<c s="${format}"><v>${raw}</v></c>`;

describe('A workbook of LibreOffice', () => {
  test('is read as a CSV of its values is, with the lines of the sheet and warnings for all that a person sees in another way', async () => {
    const list = await openFile(file('libreoffice.xlsx'), { choice: { headerLine: 3 } });
    const { columns, sheet, sheets, warnings } = list;
    expect([sheet, sheets]).toEqual(['Customers', ['Customers', 'Archive']]);
    expect(columns).toEqual(['phone', 'name', 'discount', 'until', 'postcode']);
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
    const message =
      'The header seems to be on line 3 ("phone", "name", "discount", "until", "postcode"), not on line 1. Set `headerLine` to `3`, or delete everything above it.';
    await expect(openFile(file('libreoffice.xlsx'), { choice: {} })).rejects.toMatchObject({
      message,
      errors: [{ pointer: '/recipients', line: 3 }],
    });
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
  test('has the text of its number, date, time, or text, without a warning', async () => {
    const cases = [
      [numberIn(0, '47911111111'), '47911111111'],
      [numberIn(0, '4.7911111111E10'), '47911111111'],
      [numberIn(0, '0.30000000000000004'), '0.3'],
      [numberIn(0, '-1.5'), '-1.5'],
      // Dates and times are in ISO 8601.
      [numberIn(1, '47604'), '2030-05-01'],
      [numberIn(2, '47604.75'), '2030-05-01T18:00'],
      [numberIn(3, '0.375'), '09:00'],
      // A text has its runs, the characters that Excel escapes, and no phonetic hint.
      ['<c t="str"><f>A2</f><v>Dear_x000D_\n_x005F_x0041_</v></c>', 'Dear\r\n_x0041_'],
      ['<c t="s"><v>0</v></c>', 'Åse '],
      ['<c t="s"><v>1</v></c>', 'a\nb_c & 1'],
      ['<c t="str"><f>A1</f><v>hey</v></c>', 'hey'],
      ['<c t="b"><v>0</v></c>', 'FALSE'],
    ] as const;
    const strings = [
      '<r><t>Å</t></r><r><rPr><b/></rPr><t xml:space="preserve">se </t></r><rPh sb="0" eb="1"><t>x</t></rPh>',
      '<t>a_x000A_b_x005F_c &amp; 1</t>',
    ];
    const formats = ['d/m/yyyy', '[$-414]d. mmmm yyyy;@', 'hh:mm'];
    const given = cases.map(([cell]) => cell);
    const { texts, warnings } = await cells(given, { strings, formats });
    expect([texts, warnings]).toEqual([cases.map(([, text]) => text), []]);
  });

  test('of a workbook that counts from 1904 has the right date', async () => {
    const { texts } = await cells([numberIn(1, '46142')], { formats: ['yyyy'], is1904: true });
    expect(texts).toEqual(['2030-05-01']);
  });

  test('whose format shows something else, or with more than 15 digits, has a warning, but no phone number is in it', async () => {
    const formats = ['0.00%', '#,##0.00 "kr"', '[h]:mm', '00000', '+0'];
    const given = [
      numberIn(1, '0.255') + numberIn(2, '1234.5'),
      numberIn(3, '1.5') + numberIn(4, '150'),
      numberIn(5, '4791234567'),
      numberIn(0, '12345678901234567'),
      numberIn(0, '9007199254740991'),
    ];
    const { texts, warnings } = await cells(given, { formats }, textRow(1, 'phone', 'value', 'more'));
    expect(texts).toEqual(['0.255', '1.5', '4791234567', '12345678901234567', '9007199254740991']);
    expect(warnings).toEqual([
      'In column "value", 3 cells show something else than the value, which is used: "25.50%" for 0.255 on line 2, "36:00" for 1.5 on line 3, on line 4. To use what Excel shows, write it as text.',
      'In column "more", 2 cells show something else than the value, which is used: "1,234.50 kr" for 1234.5 on line 2, "00150" for 150 on line 3. To use what Excel shows, write it as text.',
      'Excel keeps only 15 digits of a number; longer ones are on lines 5, 6. Write them as text.',
    ]);
  });

  test('without a usable value says so', async () => {
    const { rows } = await cells(['<c t="e"><v>#N/A</v></c>', '<c><f>1+1</f></c>']);
    expect(rows.map(({ unusable }) => unusable?.get(1))).toEqual([
      'has the error #N/A; correct it in Excel',
      'has a formula without a result; open the workbook in Excel, and save it',
    ]);
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
