import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { separatorOf } from '../../../../src/surfaces/cli/output/locale.js';
import { scene } from '../../../scene/scene.js';

const {
  shell,
  folder: cwd,
  settings,
  write,
} = scene('cli-excel', {
  settings: { MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1', LANG: 'de_DE.UTF-8' },
});
const { volley, json } = shell();

const LIST = [
  'Name;Handy;PLZ;Ort;Code;reference',
  'Änne;0171 2345678;01067;"Dresden; Neustadt";1-2;A-1',
  'Bo;0171 2345679;20095;Hamburg;=1+1;A-2',
  'Cy;kaputt;1;Köln;3;A-3',
  'Di;0171 2345678;99;Ulm;4;A-4',
  '',
].join('\n');
const TEXT = ['-m', 'Hi {{Name}} {{Code}}', '-s', '491700000000'];

async function sent(...options: readonly string[]): Promise<string> {
  const list = write('liste.csv', LIST);
  const command = ['send', list, '--country', 'DE', ...TEXT, '--skip-invalid', '--again', '--yes'];
  const { output } = await json(...command, ...options);
  return (output as { id: string }).id;
}

const cells = (content: string, delimiter = ';'): string[][] => parse(content, { bom: true, delimiter });

test('A report for Excel has a byte order mark, the separator of the locale, texts, local times, and the columns of the list', async () => {
  const id = await sent('--window', 'Mon-Sun 00:00-24:00', '--zone', 'America/New_York');
  const { stdout, stderr } = await volley('report', id, '--excel');
  expect(stdout.startsWith('\ufeff"number";"status";"reason";')).toBe(true);
  expect(stdout).toContain('\r\n');
  expect(stderr).toContain('The separator is the semicolon.');
  const [header = [], ...rows] = cells(stdout);
  expect(header).toEqual([
    ...['number', 'status', 'reason', 'Name', 'Code'],
    ...['sent at (America/New_York)', 'updated at (America/New_York)'],
    ...['line', 'reference', 'request id', 'service status', 'service code'],
  ]);
  const named = rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at]])));
  expect(named).toMatchObject([
    { number: '="+491712345678"', status: 'Not sent yet', reference: '="A-1"', Name: 'Änne', Code: '="1-2"' },
    { number: '="+491712345679"', Name: 'Bo', Code: "'=1+1" },
    { number: 'kaputt', status: 'Invalid row', reference: '="A-3"', line: '4', Name: '', Code: '' },
    { number: '="+491712345678"', status: 'Duplicate row', line: '5' },
  ]);
  const updated = named[2]?.['updated at (America/New_York)'] ?? '';
  const there = new Date().toLocaleString('sv', { timeZone: 'America/New_York' });
  expect(updated).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  expect(Math.abs(Date.parse(`${updated}Z`) - Date.parse(`${there}Z`))).toBeLessThan(600_000);
  const tabs = await volley('report', id, '--excel', '--separator', 'tab');
  expect(cells(tabs.stdout, '\t')[0]).toEqual(header);
});

test('--list adds the other columns of the list, also to rows that were left out', async () => {
  const id = await sent();
  const list = join(cwd, 'liste.csv');
  const read = ['--list', list, '--country', 'DE'];
  const { stdout } = await volley('report', id, '--excel', ...read);
  const [header = [], ...rows] = cells(stdout);
  expect(header.slice(3, 7)).toEqual(['Name', 'PLZ', 'Ort', 'Code']);
  expect(rows.map((row) => row.slice(3, 7))).toEqual([
    ['Änne', '="01067"', 'Dresden; Neustadt', '="1-2"'],
    ['Bo', '="20095"', 'Hamburg', "'=1+1"],
    ['Cy', '="1"', 'Köln', '="3"'],
    ['Di', '="99"', 'Ulm', '="4"'],
  ]);
  const partly = write('partly.csv', LIST.replace('0171 2345679', '0171 9999999'));
  const answer = await volley(
    'report',
    id,
    '--excel',
    '--list',
    partly,
    '--country',
    'DE',
    '--out',
    join(cwd, 'p.csv'),
  );
  expect(answer.stdout).toContain(`1 row of the report is not in ${partly}.`);
  const national = LIST.replace('0171 2345679', '+49 171 2345679');
  const unread = await volley(
    'report',
    id,
    '--excel',
    '--list',
    write('nat.csv', national),
    '--out',
    'n.csv',
  );
  expect(unread.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Its line 2, and 1 other, have no number as the list is read: read it as you sent it, with --country or --country-column.',
  );
  const other = write('other.csv', 'phone\n+447700900123\n');
  const missing = await volley('report', id, '--excel', '--list', other, '--out', join(cwd, 'none.csv'));
  expect(missing).toMatchObject({ exit: 2 });
  expect(missing.stderr).toContain(`No number of the report is in ${other}.`);
  expect(existsSync(join(cwd, 'none.csv'))).toBe(false);
});

test('--list finds the row of each text of a number that got several', async () => {
  const id = await sent('--duplicates', 'keep');
  const read = ['--list', join(cwd, 'liste.csv'), '--country', 'DE', '--status', 'planned'];
  const [, ...rows] = cells((await volley('report', id, '--excel', ...read)).stdout);
  expect(rows.map((row) => [row[3], row[5]])).toEqual([
    ['Änne', 'Dresden; Neustadt'],
    ['Bo', 'Hamburg'],
    ['Di', 'Ulm'],
  ]);
});

test('A report for Excel can be sent as a list: the values are as they were, and the first column has the numbers', async () => {
  const id = await sent();
  const out = join(cwd, 'again.csv');
  const report = ['report', id, '--excel', '--list', join(cwd, 'liste.csv'), '--country', 'DE'];
  await volley(...report, '--status', 'failed,planned', '--out', out);
  const { output } = await json(
    'preview',
    out,
    '-m',
    '{{Name}} {{PLZ}} {{Ort}} {{Code}} {{reference}}',
    '-s',
    '4917',
  );
  expect(output).toMatchObject({
    toColumn: 'number',
    recipientCount: 2,
    samples: [
      { to: '+491712345678', text: 'Änne 01067 Dresden; Neustadt 1-2 A-1' },
      { to: '+491712345679', text: 'Bo 20095 Hamburg =1+1 A-2' },
    ],
  });
  // Excel keeps what a formula shows, and the apostrophe.
  const saved = readFileSync(out, 'utf8').replaceAll(/"=""([^"]*)"""/g, '$1');
  const again = await json('preview', write('saved.csv', saved), '-m', '{{PLZ}} {{Code}}', '-s', '4917');
  expect(again.output).toMatchObject({
    recipientCount: 2,
    samples: [{ text: '01067 1-2' }, { text: '20095 =1+1' }],
  });
});

test('Columns of the list with the names of a report keep theirs', async () => {
  const list = write('names.csv', 'number,status,reason\n+447700900111,gold,birthday\n');
  const { output } = await json('send', list, '-m', '{{status}} {{reason}}', '-s', '447700900000', '--yes');
  const { id } = output as { id: string };
  const { stdout } = await volley('report', id, '--excel');
  const [header = [], row = []] = cells(stdout);
  expect(header.slice(0, 3)).toEqual(['number', 'report status', 'report reason']);
  expect(header.slice(3, 5)).toEqual(['status', 'reason']);
  expect(row.slice(3, 5)).toEqual(['gold', 'birthday']);
  const preview = await json('preview', write('back.csv', stdout), '-m', '{{status}}', '-s', '447700900000');
  expect(preview.output).toMatchObject({ samples: [{ text: 'gold' }] });
  const plain = await volley('report', id, '--format', 'csv');
  expect(plain.stdout.split('\n')[0]).toMatch(/code$/);
});

test('The first column has the numbers of a report that is sent as a list, even if another column of the list has numbers', async () => {
  const list = write('two.csv', 'mobile,phone\n+447700900112,+447700900113\n');
  const options = ['-m', 'Call {{phone}}', '-s', '447700900000', '--to-column', 'mobile', '--yes'];
  const { output } = await json('send', list, ...options);
  const { stdout } = await volley('report', (output as { id: string }).id, '--excel');
  const preview = await json('preview', write('two-back.csv', stdout), '-m', 'Call {{phone}}', '-s', '4477');
  expect(preview.output).toMatchObject({
    samples: [{ to: '+447700900112', text: 'Call +447700900113' }],
  });
});

test('Workbooks, and options that need others, are refused with what to do instead', async () => {
  const id = await sent();
  const refused = async (...args: string[]) => {
    const { exit, stderr } = await volley('report', id, ...args);
    return [exit, stderr.replace(/\s+/g, ' ').trim()];
  };
  expect(await refused('--out', 'spring.xlsx')).toEqual([
    2,
    'volley: Volley cannot write .xlsx files. Use --out spring.csv, with --excel for a file that Excel opens by a double click.',
  ]);
  expect(await refused('--separator', 'tab')).toEqual([2, 'volley: --separator needs --excel.']);
  expect(await refused('--list', 'x.csv')).toEqual([2, 'volley: --list needs --excel.']);
  expect(await refused('--country', 'DE', '--excel')).toEqual([2, 'volley: --country needs --list.']);
  expect((await refused('--excel', '--format', 'csv'))[1]).toContain('do not go together');
  expect((await refused('--excel', '--json'))[1]).toContain('--json and --excel do not go together');
  expect((await refused('--status', 'fialed'))[1]).toContain('Did you mean failed? Use one of delivered,');
});

test('A report that cannot be written to standard output fails with one line', async () => {
  const id = await sent();
  const main = fileURLToPath(new URL('../../../../dist/src/surfaces/cli/main.js', import.meta.url));
  const full = openSync('/dev/full', 'w');
  const env = { PATH: process.env['PATH'], ...settings };
  const child = spawn(process.execPath, [main, 'report', id], { cwd, env, stdio: ['ignore', full, 'pipe'] });
  const errors = child.stderr;
  if (errors === null) throw new Error('standard error is no pipe');
  const [stderr, [exit]] = await Promise.all([text(errors), once(child, 'exit')]);
  expect(exit).toBe(1);
  expect(
    stderr
      .trimEnd()
      .split('\n')
      .filter((line) => line.startsWith('volley: ')),
  ).toEqual(['volley: Standard output cannot be written: there is no space left. The output is incomplete.']);
  expect(stderr).not.toContain('at ');
  closeSync(full);
});

test.each([
  ['de_DE.UTF-8', 'semicolon'],
  ['fr_FR@euro', 'semicolon'],
  ['de_CH.UTF-8', 'semicolon'],
  ['en_US.UTF-8', 'comma'],
  ['en_GB', 'comma'],
  ['C.UTF-8', 'comma'],
  ['no such locale', /comma|semicolon/],
])('The separator of the locale %s is a %s', (locale, separator) => {
  expect(separatorOf({ LANG: locale })).toMatch(separator);
  expect(separatorOf({ LANG: 'en_US', LC_ALL: locale })).toMatch(separator);
  expect(separatorOf({ LANG: 'en_US', LC_NUMERIC: locale, LC_ALL: '' })).toMatch(separator);
});
