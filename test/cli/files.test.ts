import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { invalidFile } from '../../src/cli/invalid-file.js';
import { formatReport, forSpreadsheet, spreadsheetSafe } from '../../src/reporting/report-file.js';

describe('The file of invalid rows', () => {
  let list: string;
  beforeEach(() => {
    list = join(mkdtempSync(join(tmpdir(), 'volley-invalid-')), 'list.csv');
  });
  const bad = { line: 3, column: 'phone', reason: 'is no number', row: ["O'Brien, Søn", '12'] };

  test('has the line, column, and reason before the fields of each row', () => {
    const file = invalidFile(list, ['name', 'phone']);
    file.add(bad);
    file.add({ line: 5, column: null, reason: '=1+1', row: ['only one'] });
    const ended = file.end();
    expect(ended).toEqual({ path: list.replace('.csv', '.invalid.csv'), rows: 2 });
    expect(readFileSync(ended?.path ?? '', 'utf8')).toBe(
      `line,column,reason,name,phone\n3,phone,is no number,"O'Brien, Søn",12\n5,,'=1+1,only one\n`,
    );
  });

  test('is not created if there are no invalid rows', () => {
    expect(invalidFile(list, ['phone']).end()).toBeUndefined();
    expect(readdirSync(join(list, '..'))).toEqual([]);
  });

  test('never overwrites an existing file', () => {
    const first = list.replace('.csv', '.invalid.csv');
    writeFileSync(first, 'mine');
    const file = invalidFile(list, ['name', 'phone']);
    file.add(bad);
    expect(file.end()?.path).toBe(list.replace('.csv', '.invalid-2.csv'));
    expect(readFileSync(first, 'utf8')).toBe('mine');
  });

  test('is deleted if no campaign is created', () => {
    const file = invalidFile(list, ['name', 'phone']);
    file.add(bad);
    file.discard();
    expect(readdirSync(join(list, '..'))).toEqual([]);
  });

  test('has column names that differ from the list’s, so that it can be read as a list again', () => {
    const file = invalidFile(list, ['line', 'phone']);
    file.add(bad);
    expect(readFileSync(file.end()?.path ?? '', 'utf8').split('\n')[0]).toBe(
      'invalid line,column,reason,line,phone',
    );
  });
});

describe('a report', () => {
  const row = {
    recipient: '+447700900123',
    status: 'rejected' as const,
    reason: '=HYPERLINK("http://x","y")',
    requestId: '@SUM(1)',
    sentAt: '2026-05-02T12:00:00.000Z',
    updatedAt: '',
  };
  async function* rows() {
    yield row;
  }
  const all = async (pieces: AsyncIterable<string>): Promise<string> => {
    let text = '';
    for await (const piece of pieces) text += piece;
    return text;
  };

  test('in CSV has a header, and what the service wrote is no formula', async () => {
    expect(await all(formatReport(rows(), 'csv'))).toBe(
      `recipient,status,reason,request id,sent at,updated at\n+447700900123,rejected,"'=HYPERLINK(""http://x"",""y"")",'@SUM(1),2026-05-02T12:00:00.000Z,\n`,
    );
  });

  test('in NDJSON is as it is', async () => {
    expect(JSON.parse(await all(formatReport(rows(), 'ndjson')))).toEqual(row);
  });

  test('without rows is its header', async () => {
    async function* none() {}
    expect(await all(formatReport(none(), 'csv'))).toBe(
      'recipient,status,reason,request id,sent at,updated at\n',
    );
  });

  test('that breaks off does not end as if it were whole', async () => {
    async function* broken() {
      yield row;
      throw new Error('Redis is gone');
    }
    await expect(all(formatReport(broken(), 'csv'))).rejects.toThrow('Redis is gone');
  });

  test('leaves numbers as programs read them', () =>
    expect(forSpreadsheet(row).recipient).toBe('+447700900123'));

  test.each(['=1', '+1', '-1', '@x', '\t=1', '\r=1', '＝1'])('makes %j harmless', (text) => {
    expect(spreadsheetSafe(text)).toBe(`'${text}`);
  });
  test('leaves ordinary reasons alone', () =>
    expect(spreadsheetSafe('no such number')).toBe('no such number'));
});
