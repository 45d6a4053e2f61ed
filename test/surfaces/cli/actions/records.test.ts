import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordsSetting } from '../../../call-records/service.js';
import { scene } from '../../../scene/scene.js';

const place = scene('cli-records');
const { folder: cwd, shell, write } = place;
const { simulator, env } = await recordsSetting(place);
const { volley, json } = shell(env);
const DAYS = ['--from', '2026-01-01', '--to', '2026-01-31', '--set', 'product=voice', '--set', 'format=csv'];

const digestOf = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');
const entryFor = (number: string) =>
  [...simulator.records()].filter(({ values }) => values['number'] === number);

test('fetch writes the file and says what it does; again, it requests nothing', async () => {
  const fetched = await volley('records', 'fetch', ...DAYS, '--set', 'number=+51', '--out', 'january.csv');
  expect(fetched).toMatchObject({
    exit: 0,
    stdout: expect.stringMatching(/^Wrote [\d,]+ bytes to january\.csv\.\n$/),
  });
  expect(fetched.stderr).toMatch(/^Request \w+: pending\.\n/);
  expect(digestOf(await readFile(join(cwd, 'january.csv')))).toBe(entryFor('+51')[0]?.sha256);
  expect((await stat(join(cwd, 'january.csv'))).mode & 0o777).toBe(0o600);

  const exists = await volley('records', 'fetch', ...DAYS, '--set', 'number=+51', '--out', 'january.csv');
  expect(exists).toMatchObject({ exit: 2, stderr: expect.stringContaining('exists already') });
  const again = await json(
    'records',
    'fetch',
    ...DAYS,
    '--set',
    'number=+51',
    '--out',
    'january.csv',
    '--force',
  );
  expect(again).toMatchObject({ exit: 0, output: { lane: 'default', file: 'january.csv' } });
  expect(entryFor('+51')).toMatchObject([{ downloads: 2 }]);
});

test('Without --out, standard output has the file and nothing else', async () => {
  const { exit, stdout } = await volley('records', 'fetch', ...DAYS, '--set', 'number=+52');
  expect([exit, digestOf(stdout)]).toEqual([0, entryFor('+52')[0]?.sha256]);
});

test('request, status, download, and list work one by one', async () => {
  const made = await json('records', 'request', ...DAYS, '--set', 'number=+53');
  expect(made).toMatchObject({ exit: 0, output: { state: 'pending' } });
  const { id } = made.output as { id: string };
  await expect
    .poll(async () => (await volley('records', 'status', id)).stdout)
    .toMatch(new RegExp(`^Request ${id}, lane default, 2026-01-01 to 2026-01-31: ready \\(done\\) since `));
  const downloaded = await volley('records', 'download', id, '--set', 'format=json', '--out', 'records.json');
  expect(downloaded.stdout).toMatch(/^Wrote/);
  const { stdout } = await volley('records', 'list', '--limit', '1');
  expect(stdout).toMatch(new RegExp(`^ID .*\\n${id}  default  downloaded  2026-01-01 to 2026-01-31`));
});

test('An unknown outcome has the exit code 3 and is resolved with the id of the service', async () => {
  simulator.configure({ records: { faults: { resetAfter: 1 } } });
  const made = await json('records', 'request', ...DAYS, '--set', 'number=+54');
  simulator.configure({ records: { faults: { resetAfter: 0 } } });
  expect(made).toMatchObject({ exit: 3, output: { state: 'unknown' } });
  const { id } = made.output as { id: string };
  const fetched = await volley('records', 'fetch', ...DAYS, '--set', 'number=+54', '--out', 'four.csv');
  expect(fetched).toMatchObject({ exit: 3, stderr: expect.stringContaining(`volley records resolve ${id}`) });
  expect((await volley('doctor')).stdout).toContain('call records: 1 request with an unknown outcome');
  expect((await volley('records', 'list', '--state', 'unknown')).stdout).toContain(id);
  expect((await volley('records', 'resolve', id)).exit).toBe(2);
  const resolved = await volley('records', 'resolve', id, '--accepted', entryFor('+54')[0]?.id ?? '');
  expect(resolved).toMatchObject({ exit: 0, stdout: expect.stringContaining(': pending since ') });
  expect((await volley('records', 'fetch', id, '--out', 'four.csv')).exit).toBe(0);
  expect(entryFor('+54')).toHaveLength(1);
});

test('An invalid contract is reported member by member, also by doctor', async () => {
  const contract = JSON.parse(await readFile(env['RECORDS_CONTRACT'] ?? '', 'utf8'));
  delete contract.status.word;
  contract.request.headers['X-Key'] = 'a\nb';
  const invalid = shell({ ...env, RECORDS_CONTRACT: write('invalid.json', contract) });
  const { exit, stderr } = await invalid.volley('records', 'request', ...DAYS);
  expect(exit).toBe(2);
  expect(stderr).toContain('invalid.json: status.word is missing; nothing in a contract has a default');
  expect(stderr).toContain('invalid.json: request.headers.X-Key must not contain CR or LF');
  expect((await invalid.volley('doctor')).stdout).toContain('status.word is missing');
});
