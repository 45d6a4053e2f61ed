import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { readProblem } from '../../../../src/base/config/file-problem.js';
import { spreadsheetSafe } from '../../../../src/campaign/text/spreadsheet.js';
import { openFile } from '../../../../src/intake/import/open-file.js';
import { formatReport, forSpreadsheet } from '../../../../src/reporting/report-file.js';
import { invalidFile } from '../../../../src/surfaces/cli/actions/invalid-file.js';
import { outputFile } from '../../../../src/surfaces/cli/files/output-file.js';
import { temporaryFolder } from '../../../scene/closing.js';

describe('The file of invalid rows', () => {
  let list: string;
  beforeEach(() => {
    list = join(temporaryFolder().path, 'list.csv');
  });
  const columns = ['name', 'phone'];
  const bad = {
    line: 3,
    column: 'phone',
    code: 'invalidNumber' as const,
    pointer: '/recipients',
    message: 'It is no number.',
    row: ["O'Brien, Søn", '12'],
  };

  test('has the line, column, and reason before the fields of each row', () => {
    const file = invalidFile(list);
    file.add(bad, columns);
    file.add(
      { line: 5, column: null, code: 'row', pointer: '/recipients', message: '=1+1', row: ['only one'] },
      columns,
    );
    const ended = file.end();
    expect(ended).toEqual({ path: list.replace('.csv', '.invalid.csv'), rows: 2 });
    expect(readFileSync(ended?.path ?? '', 'utf8')).toBe(
      `line,column,reason,name,phone\n3,phone,It is no number.,"O'Brien, Søn",12\n5,,'=1+1,only one\n`,
    );
  });

  test('is not created if there are no invalid rows', () => {
    expect(invalidFile(list).end()).toBeUndefined();
    expect(readdirSync(join(list, '..'))).toEqual([]);
  });

  test('never overwrites an existing file', () => {
    const first = list.replace('.csv', '.invalid.csv');
    writeFileSync(first, 'mine');
    const file = invalidFile(list);
    file.add(bad, columns);
    expect(file.end()?.path).toBe(list.replace('.csv', '.invalid-2.csv'));
    expect(readFileSync(first, 'utf8')).toBe('mine');
  });

  test('is deleted if no campaign is created', () => {
    const file = invalidFile(list);
    file.add(bad, columns);
    file.discard();
    expect(readdirSync(join(list, '..'))).toEqual([]);
  });

  test('has column names that differ from the list’s, so that it can be read as a list again', () => {
    const file = invalidFile(list);
    file.add(bad, ['line', 'phone']);
    expect(readFileSync(file.end()?.path ?? '', 'utf8').split('\n')[0]).toBe(
      'invalid line,column,reason,line,phone',
    );
  });
});

describe('The file of invalid rows, in a spreadsheet', () => {
  const columns = ['name', '=cmd', 'phone'];
  const row = ['=HYPERLINK("http://x")', "'+1", '+44 12'];
  const list = join(temporaryFolder().path, 'list.csv');
  const file = invalidFile(list);
  file.add(
    { line: 2, column: 'phone', code: 'row', pointer: '/recipients', message: '@SUM(1)', row },
    columns,
  );
  const path = file.end()?.path ?? '';

  test('contains no formula', () => {
    expect(readFileSync(path, 'utf8')).toBe(
      `line,column,reason,name,'=cmd,phone\n2,phone,'@SUM(1),"'=HYPERLINK(""http://x"")",''+1,'+44 12\n`,
    );
  });

  test('can be read only by its owner', () => {
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('has the original fields when it is read as a list', async () => {
    const read = await openFile(path);
    expect(read.columns).toEqual(['line', 'column', 'reason', ...columns]);
    expect((await read.batches.next()).value[0].fields).toEqual(['2', 'phone', '@SUM(1)', ...row]);
    read.close();
  });

  test('leaves the apostrophes of other lists alone', async () => {
    writeFileSync(list, "phone,text\n+447700900101,'+1\n");
    const read = await openFile(list);
    expect((await read.batches.next()).value[0].fields).toEqual(['+447700900101', "'+1"]);
    read.close();
  });

  test('names the folder that does not exist', () => {
    const other = invalidFile('nowhere/list.csv');
    expect(() =>
      other.add({ line: 2, column: null, code: 'row', pointer: '/recipients', message: '', row }, columns),
    ).toThrow('There is no folder nowhere, so nowhere/list.invalid.csv cannot be written.');
  });
});

describe('An output file', () => {
  const text = async function* () {
    yield 'whole';
  };
  let cwd: string;
  beforeEach(() => {
    cwd = temporaryFolder().path;
  });

  test('can be read only by its owner', async () => {
    await (await outputFile('new.csv', { cwd, force: false }))(text());
    expect(readFileSync(join(cwd, 'new.csv'), 'utf8')).toBe('whole');
    expect(statSync(join(cwd, 'new.csv')).mode & 0o777).toBe(0o600);
    expect(readdirSync(cwd)).toEqual(['new.csv']);
  });

  test('replaces another file only with --force, and a link by what it leads to', async () => {
    writeFileSync(join(cwd, 'mine.csv'), 'mine', { mode: 0o644 });
    symlinkSync('mine.csv', join(cwd, 'link.csv'));
    await expect(outputFile('mine.csv', { cwd, force: false })).rejects.toThrow(
      'The file mine.csv exists already. To overwrite it, add --force.',
    );
    await (await outputFile('link.csv', { cwd, force: true }))(text());
    expect(readFileSync(join(cwd, 'mine.csv'), 'utf8')).toBe('whole');
    expect(statSync(join(cwd, 'mine.csv')).mode & 0o777).toBe(0o600);
    expect(lstatSync(join(cwd, 'link.csv')).isSymbolicLink()).toBe(true);
  });

  test('does not replace a file that another command created meanwhile', async () => {
    const write = await outputFile('new.csv', { cwd, force: false });
    writeFileSync(join(cwd, 'new.csv'), 'theirs');
    await expect(write(text())).rejects.toThrow('exists already');
    expect(readFileSync(join(cwd, 'new.csv'), 'utf8')).toBe('theirs');
    expect(readdirSync(cwd)).toEqual(['new.csv']);
  });

  test('is not left half written', async () => {
    const broken = async function* () {
      yield 'half';
      throw new Error('Redis is gone');
    };
    const write = await outputFile('new.csv', { cwd, force: false });
    await expect(write(broken())).rejects.toThrow('Redis is gone');
    expect(readdirSync(cwd)).toEqual([]);
  });

  test.each([
    ['nowhere/new.csv', 'There is no folder nowhere. Create it first with `mkdir -p nowhere`.'],
    ['.', 'The path . is a folder. Give the name of a file in it: report.csv'],
  ])('%s is refused with its reason', async (path, message) => {
    await expect(outputFile(path, { cwd, force: false })).rejects.toThrow(message);
  });

  test('in the folder where the command already runs is refused with its name there', async () => {
    const folder = basename(cwd);
    await expect(outputFile(`${folder}/new.csv`, { cwd, force: false })).rejects.toThrow(
      `There is no folder ${folder} in ${cwd}, where this command runs. Write new.csv.`,
    );
  });

  test('may be a device, which is not replaced', async () => {
    await (await outputFile('/dev/null', { cwd, force: false }))(text());
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });
});

test.each([
  ['lists/big.csv', 'big.csv'],
  ['/home/ann/app/lists/big.csv', 'big.csv'],
  ['lists/examples/sale.csv', 'examples/sale.csv'],
  ['lists/other.csv', undefined],
])(
  'The path %s in the folder lists itself is refused, and the error names what is there',
  async (path, here) => {
    const cwd = join(temporaryFolder().path, 'lists');
    mkdirSync(join(cwd, 'examples'), { recursive: true });
    for (const file of ['big.csv', 'examples/sale.csv'])
      writeFileSync(join(cwd, file), 'phone\n+447700900101\n');
    const hint = here === undefined ? '' : `, but there is ${here} in ${cwd}, where this command runs`;
    const found = await stat(resolve(cwd, path)).catch((error: unknown) => readProblem(error, path, cwd));
    expect(found).toBe(`There is no file ${path}${hint}`);
  },
);

describe('a report', () => {
  const row = {
    to: '+447700900123',
    status: 'rejected' as const,
    reason: '=HYPERLINK("http://x","y")',
    requestId: '@SUM(1)',
    sentAt: '2026-05-02T12:00:00.000Z',
    updatedAt: null,
    reference: '=1+1',
    serviceStatus: '=2',
    serviceCode: '-8',
    leftOut: null,
    revision: 0,
    values: null,
  };
  async function* rows() {
    yield row;
  }
  const all = async (pieces: AsyncIterable<string>): Promise<string> => {
    let text = '';
    for await (const piece of pieces) text += piece;
    return text;
  };

  test('in CSV has a header, and what the service or the producer wrote is no formula', async () => {
    expect(await all(formatReport(rows(), 'csv'))).toBe(
      `to,status,reason,request id,sent at,updated at,reference,service status,service code,line,column,code\n+447700900123,rejected,"'=HYPERLINK(""http://x"",""y"")",'@SUM(1),2026-05-02T12:00:00.000Z,,'=1+1,'=2,'-8,,,\n`,
    );
  });

  test('in CSV has the values of the list behind its own columns, if rows have them', async () => {
    async function* valued() {
      yield { ...row, values: { status: 'gold', 'a.b': '=3', leftOut: '' } };
    }
    const lines = (await all(formatReport(valued(), 'csv'))).trimEnd().split('\n');
    expect(lines.map((line) => line.split(',').slice(-6))).toEqual([
      ['line', 'column', 'code', 'list status', 'a.b', 'leftOut'],
      ['', '', '', 'gold', "'=3", ''],
    ]);
  });

  test('in NDJSON is as it is', async () => {
    expect(JSON.parse(await all(formatReport(rows(), 'ndjson')))).toEqual(row);
  });

  test('without rows is its header', async () => {
    async function* none() {}
    expect(await all(formatReport(none(), 'csv'))).toBe(
      'to,status,reason,request id,sent at,updated at,reference,service status,service code,line,column,code\n',
    );
  });

  test('that breaks off does not end as if it were whole', async () => {
    async function* broken() {
      yield row;
      throw new Error('Redis is gone');
    }
    await expect(all(formatReport(broken(), 'csv'))).rejects.toThrow('Redis is gone');
  });

  test('leaves numbers as programs read them', () => expect(forSpreadsheet(row).to).toBe('+447700900123'));

  test('shows a carriage return, which would hide the start of its line on a terminal', () =>
    expect(spreadsheetSafe('\r=1')).toBe('\\u000d=1'));
});
