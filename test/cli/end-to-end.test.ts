import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { magicNumber } from '../../src/simulator/index.js';
import { testRedis } from '../redis/test-redis.js';
import { type CommandLine, commandLine, type Running } from './command-line.js';

const { url, prefix } = testRedis('cli');
const cwd = mkdtempSync(join(tmpdir(), 'volley-cli-'));
const file = (name: string, text: string): string => {
  const path = join(cwd, name);
  writeFileSync(path, text);
  return path;
};
const list = file(
  'list.csv',
  '\ufeffname;phone;city\n"O\'Brien & Søn";07700 900101;"Wells, Somerset"\nAnna;+44 7700 900102;York\nAnna again;07700900102;York\nBo;+447700900103;Leeds\n',
);

let cli: CommandLine;
let simulator: Running;
let worker: Running;

beforeAll(async () => {
  const bare = commandLine(cwd);
  simulator = await bare.start(
    /^MESSAGING_BASE_URL=/m,
    'simulator',
    '--options',
    JSON.stringify({ keys: [{ key: 'the-key', quota: 500 }], deliveryTime: 50 }),
  );
  const addresses = Object.fromEntries(
    simulator.stdout
      .trim()
      .split('\n')
      .map((line) => line.split('=')),
  );
  cli = commandLine(cwd, {
    ...addresses,
    REDIS_URL: url,
    REDIS_PREFIX: prefix,
    API_KEY: 'the-key',
    HOURLY_QUOTA: '500',
    DEFAULT_COUNTRY: 'GB',
    FOLLOW_UP_FIRST_MS: '200',
    REQUEST_TIMEOUT_MS: '1000',
  });
});

afterAll(async () => {
  await worker?.stop();
  await simulator?.stop();
});

const send = (...args: readonly string[]) => [
  'send',
  list,
  '-s',
  'ACME',
  '-m',
  'Hi {{name}} in {{city}}',
  ...args,
];
interface Sent {
  id: string;
}

describe('without workers', () => {
  test('a preview tells what it comes to, and stores nothing', async () => {
    const { exit, said } = await cli.json('preview', list, '-s', 'ACME', '-m', 'Hi {{name}}');
    expect(exit).toBe(0);
    expect(said).toMatchObject({ rows: 4, recipients: 3, duplicates: 1, invalid: 0, numberColumn: 'phone' });
    expect((await cli.json('list')).said).toEqual({ campaigns: [] });
  });

  test('sending says that nobody works, and where the campaign is', async () => {
    const { exit, stdout, stderr } = await cli.volley(...send('--yes', '--idempotency-key', 'first'));
    expect(stderr).toContain('No worker runs');
    expect(stdout).toMatch(/^Campaign \w+: 3 recipients; left out: 1 duplicate\.\n/);
    expect(exit).toBe(0);
  });

  test('the same idempotency key makes no second campaign, and another text under it is an error', async () => {
    const again = await cli.json(...send('--idempotency-key', 'first'));
    expect(again.said).toMatchObject({ existing: true, recipients: 3 });
    const other = await cli.json('send', list, '-s', 'ACME', '-m', 'Bye', '--idempotency-key', 'first');
    expect(other).toMatchObject({ exit: 2, said: { error: { reason: 'conflict' } } });
  });

  test('the same file, text and sender needs --again', async () => {
    const { exit, stderr } = await cli.volley(...send('--yes'));
    expect(stderr).toMatch(/same file, text and sender.*--again/);
    expect(exit).toBe(2);
  });

  test('a paused campaign waits for an operator: --watch ends with 3 and says what to do', async () => {
    const { said } = await cli.json(...send('--again'));
    const { id } = said as Sent;
    expect((await cli.volley('pause', id)).stdout).toContain(`volley resume ${id}`);
    const watched = await cli.volley('status', id, '--watch');
    expect(watched.exit).toBe(3);
    expect(watched.stderr).toContain(`volley resume ${id}`);
    expect((await cli.json('resume', id)).said).toMatchObject({ id, state: 'running' });
    expect((await cli.json('cancel', id)).said).toMatchObject({ cancelled: 3, inFlight: 0 });
  });

  test('the doctor says that nobody works and looks at everything else', async () => {
    const { said } = await cli.json('doctor');
    const { checks } = said as { checks: { name: string; level: string }[] };
    const levels = Object.fromEntries(checks.map(({ name, level }) => [name, level]));
    expect(levels).toMatchObject({
      settings: 'ok',
      'Redis version': 'ok',
      'Redis append-only file': 'ok',
      'Redis eviction': 'ok',
      workers: 'warn',
      'messaging service': 'ok',
      'credentials of lane default': 'ok',
    });
    expect(levels).toHaveProperty('Redis fsync');
    expect(levels).toHaveProperty('clock of Redis');
  });

  test('a lane with an API key has no token, and says so', async () => {
    const { exit, stderr } = await cli.volley('token', 'show', '--lane', 'default');
    expect(stderr).toContain('Lane default sends with an API key');
    expect(exit).toBe(2);
  });
});

describe('with a worker', () => {
  beforeAll(async () => {
    worker = await cli.start(/Working \(send, follow-up\) for 1 lane/, 'work');
  });

  test('send --wait ends when every recipient is final, and the report has each of them', async () => {
    const { exit, said } = await cli.json(...send('--again', '--wait', '--name', 'Waited for'));
    expect(exit).toBe(0);
    expect(said).toMatchObject({
      recipients: 3,
      duplicates: 1,
      invalid: 0,
      status: { state: 'completed', recipients: { total: 3, deliveredToTerminal: 3 } },
    });
    const { id } = said as Sent;
    const report = await cli.volley('report', id);
    expect(report.exit).toBe(0);
    const lines = report.stdout.trimEnd().split('\n');
    expect(lines[0]).toBe('recipient,status,reason,request id,sent at,updated at');
    expect(
      lines
        .slice(1)
        .map((line) => line.split(',', 2).join(' '))
        .sort(),
    ).toEqual([
      '+447700900101 deliveredToTerminal',
      '+447700900102 deliveredToTerminal',
      '+447700900103 deliveredToTerminal',
    ]);
    const out = join(cwd, 'report.ndjson');
    await cli.volley('report', id, '--format', 'ndjson', '--out', out);
    expect(readFileSync(out, 'utf8').trimEnd().split('\n')).toHaveLength(3);
    expect(
      (await cli.volley('report', id, '--status', 'rejected')).stdout.trimEnd().split('\n'),
    ).toHaveLength(1);
  });

  test('a status is one object of the documented shape, and a picture for people', async () => {
    const { said } = await cli.json('list', '--limit', '1');
    const [newest] = (said as { campaigns: { id: string }[] }).campaigns;
    const { said: status } = await cli.json('status', newest?.id ?? '');
    expect(status).toMatchObject({
      id: newest?.id,
      name: 'Waited for',
      lane: 'default',
      state: 'completed',
      requests: { send: 3 },
      quota: { limit: 500 },
      blockedBy: null,
      waitingFor: null,
      eta: null,
    });
    expect((await cli.volley('status', newest?.id ?? '')).stdout).toMatch(/█ delivered +3 /);
  });

  test('a number is found in its campaigns, however it is spelled', async () => {
    const { said } = await cli.json('find', '07700 900103');
    const { found } = said as { found: { status: string; name: string }[] };
    expect(found.map(({ name }) => name)).toContain('Waited for');
    expect((await cli.volley('find', '+447700999999')).stdout).toContain('No campaign has this number');
  });

  test('a suppressed number is left out, and can come back', async () => {
    expect((await cli.json('suppress', 'add', '07700 900102', '+447700900102')).said).toEqual({ added: 1 });
    expect((await cli.json('suppress', 'list')).said).toEqual({ numbers: ['+447700900102'] });
    const { said } = await cli.json('preview', list, '-s', 'ACME', '-m', 'Hi');
    expect(said).toMatchObject({ suppressed: 1 });
    expect((await cli.json('suppress', 'remove', '07700900102')).said).toEqual({ removed: 1 });
    const imported = await cli.json(
      'suppress',
      'import',
      file('opt-outs.csv', 'phone\n07700900199\nnobody\n'),
    );
    expect(imported).toMatchObject({ exit: 2, said: { error: { added: 1, rows: 2, invalid: 1 } } });
  });

  test('a number of another country than the default one is found and suppressed with --country', async () => {
    const french = ['06 12 34 56 78', '--country', 'fr'];
    expect((await cli.json('suppress', 'add', ...french)).said).toEqual({ added: 1 });
    expect((await cli.volley('suppress', 'list')).stdout).toContain('+33612345678\n');
    expect((await cli.json('suppress', 'remove', ...french)).said).toEqual({ removed: 1 });
    expect((await cli.json('find', ...french)).said).toEqual({ found: [] });
    expect((await cli.json('find', '07700 900103', '--country', 'US')).exit).toBe(2);
  });

  test('what `suppress list` prints can be imported again, the first line too', async () => {
    await cli.volley('suppress', 'add', '+447700900197', '+447700900198');
    const printed = (await cli.volley('suppress', 'list')).stdout;
    const { said } = await cli.json('suppress', 'import', file('printed.csv', printed));
    expect(said).toMatchObject({ added: 0, rows: printed.trimEnd().split('\n').length });
  });

  test('--skip-invalid sends to the good rows, and keeps the bad ones in a file', async () => {
    const bad = file('bad.csv', 'name,phone\nAnna,07700900105\nBo,12\n');
    const { exit, said } = await cli.json('send', bad, '-s', 'ACME', '-m', 'Hello', '--skip-invalid');
    expect(exit).toBe(0);
    expect(said).toMatchObject({ recipients: 1, invalid: 1, invalidFile: join(cwd, 'bad.invalid.csv') });
    expect(readFileSync(join(cwd, 'bad.invalid.csv'), 'utf8')).toMatch(
      /^line,column,reason,name,phone\n3,phone,.*,Bo,12\n$/,
    );
  });

  test('what was asked for with a key is answered again though its time has passed', async () => {
    const at = new Date(Date.now() + 6_000).toISOString();
    const timed = send('-m', 'At its time, {{name}}', '--at', at, '--idempotency-key', 'timed');
    const first = await cli.json(...timed);
    expect(first).toMatchObject({ exit: 0 });
    await expect.poll(() => Date.now() > Date.parse(at), { timeout: 10_000 }).toBe(true);
    expect(await cli.json(...timed)).toMatchObject({
      exit: 0,
      said: { existing: true },
    });
    expect((await cli.json(...send('--at', at, '--again'))).exit).toBe(2);
  });

  test('--test-to sends one sample, with the values of the first good row', async () => {
    const { exit, said } = await cli.json(...send('--test-to', '07700 900999', '--wait'));
    expect(exit).toBe(0);
    expect(said).toMatchObject({ recipients: 1, status: { recipients: { deliveredToTerminal: 1 } } });
    const origin = simulator.stdout.match(/^ACCOUNT_BASE_URL=(.*)$/m)?.[1];
    const ledger = await (await fetch(`${origin}/_simulator/ledger`)).text();
    expect(ledger).toMatch(/"\+447700900999".*Hi O'Brien & Søn in Wells, Somerset/);
  });

  test('an unknown outcome makes --wait end with 3, and resolve lets it complete', async () => {
    const unknown = file('unknown.csv', `phone\n${magicNumber('resetAfter')}\n`);
    const { exit, said } = await cli.json('send', unknown, '-s', 'ACME', '-m', 'Hello', '--wait');
    expect(exit).toBe(3);
    const { id } = said as Sent;
    expect(said).toMatchObject({ status: { waitingFor: 'resolve', recipients: { unknown: 1 } } });
    expect((await cli.volley('status', id)).stdout).toContain(`volley resolve ${id}`);
    const resolved = await cli.json('resolve', id, '--abandon');
    expect(resolved.said).toMatchObject({ id, as: 'abandon', recipients: 1, tooEarly: null });
    expect((await cli.json('status', id, '--watch')).said).toMatchObject({
      state: 'completed',
      recipients: { abandoned: 1 },
    });
  });

  test('a lane can be held and go on', async () => {
    expect((await cli.volley('lane', 'pause', 'default')).stdout).toContain('volley lane resume default');
    const held = await cli.json('lanes');
    expect(held.said).toMatchObject({ lanes: [{ name: 'default', state: 'held' }] });
    const { exit, stderr } = await cli.volley(...send('--again', '--yes', '--wait'));
    expect(exit).toBe(3);
    expect(stderr).toContain('Waits for an operator');
    expect((await cli.json('lane', 'resume', 'default')).said).toEqual({ lane: 'default', state: 'open' });
    expect((await cli.volley('lanes')).stdout).toMatch(/^default {2}open\n.*of 500 used/s);
  });

  test('a worker that is told to end ends in good order', async () => {
    const second = await cli.start(/Working \(send\)/, 'work', '--roles', 'send');
    const { exit } = await second.stop();
    expect(exit).toBe(0);
  });
});

test('a Redis that does not answer is said so, and nothing waits for it', async () => {
  const nowhere = commandLine(cwd, { REDIS_URL: 'redis://127.0.0.1:1' });
  const { exit, stderr } = await nowhere.volley('list');
  expect(stderr).toMatch(/Redis does not answer \(.*ECONNREFUSED.*volley doctor/);
  expect(exit).toBe(1);
  // The doctor does not send to himself.
  const { stdout } = await nowhere.volley('doctor');
  expect(stdout).toMatch(/Redis: does not answer: .*ECONNREFUSED/);
  expect(stdout).not.toMatch(/volley doctor/);
});

test('without any Redis the way to one is named', async () => {
  const { exit, stderr } = await commandLine(mkdtempSync(join(tmpdir(), 'volley-none-'))).volley('list');
  expect(stderr).toMatch(/volley up.*REDIS_URL/);
  expect(exit).toBe(2);
});
