import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { magicNumber } from '../../../src/tools/simulator/index.js';
import { type CommandLine, commandLine, type Running } from '../../scene/command-line.js';
import { scene } from '../../scene/scene.js';
import { CTRL_C, onTerminal } from './on-terminal.js';

const { folder: cwd, settings: base, shell, write } = scene('cli');
const list = write(
  'list.csv',
  '\ufeffname;phone;city\n"O\'Brien & Søn";07700 900101;"Wells, Somerset"\nAnna;+44 7700 900102;York\nAnna again;07700900102;York\nBo;+447700900103;Leeds\n',
);

let cli: CommandLine;
let settings: Readonly<Record<string, string>>;
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
  settings = {
    ...addresses,
    ...base,
    API_KEY: 'the-key',
    HOURLY_QUOTA: '500',
    DEFAULT_COUNTRY: 'GB',
    FOLLOW_UP_FIRST_MS: '200',
    REQUEST_TIMEOUT_MS: '5000',
  };
  cli = shell(settings);
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
  '--yes',
  ...args,
];
interface Sent {
  id: string;
}

describe('without workers', () => {
  test.each(['long.csv', '-'])(
    'Ctrl-C while the list %s is read sends nothing and stores nothing',
    async (source) => {
      // A long file, or a pipe that stays open.
      const long = source === '-' ? '-' : write(source, `phone\n${'07700900101\n'.repeat(3_000_000)}`);
      const options = ['--name', 'Interrupted', '-m', 'Hi', '-s', 'ACME', '--yes'];
      const sending = await cli.start(/^/, 'send', long, ...options);
      const newest = async () => (await cli.json('list', '--limit', '1')).output;
      const importing = { campaigns: [{ name: 'Interrupted', state: 'importing' }] };
      await expect.poll(newest).toMatchObject(importing);
      const { exit, stdout, stderr } = await sending.stop();
      expect(stderr).toContain('Interrupted; nothing was sent.');
      expect([exit, stdout]).toEqual([130, '']);
      expect(await newest()).not.toMatchObject({ campaigns: [{ name: 'Interrupted' }] });
    },
  );

  test('Ctrl-C while watching says that the campaign continues, and how to stop it', async () => {
    const { output } = await cli.json(...send('--again'));
    const { id } = output as Sent;
    const watching = await cli.start(/No worker is running.*0 of 3 done/s, 'status', id, '--watch');
    const { exit, stderr } = await watching.stop();
    expect(stderr).toContain(`The campaign continues. To watch it again: volley status ${id} --watch\n`);
    expect(stderr).toContain(`To stop it: volley pause ${id}, or for good: volley cancel ${id}\n`);
    expect(exit).toBe(130);
    expect((await cli.json('cancel', id, '--yes')).output).toMatchObject({ cancelled: 3 });
  });
});

describe('with a worker', () => {
  beforeAll(async () => {
    worker = await cli.start(/Working \(send, follow-up, webhooks\) for 1 lane/, 'work');
  });

  test('send --wait ends when every recipient is in a final state, and the report lists each of them', async () => {
    const { exit, output } = await cli.json(...send('--again', '--wait', '--name', 'Waited for'));
    expect(exit).toBe(0);
    expect(output).toMatchObject({
      recipientCount: 3,
      duplicates: 1,
      invalid: 0,
      status: { state: 'completed', counts: { total: 3, deliveredToTerminal: 3 } },
    });
    const { id } = output as Sent;
    const report = await cli.volley('report', id);
    expect(report.exit).toBe(0);
    const lines = report.stdout.trimEnd().split('\n');
    expect(lines[0]).toBe(
      'to,status,reason,request id,sent at,updated at,reference,service status,service code,line,column,code',
    );
    expect(
      lines
        .slice(1)
        .map((line) => line.split(',', 2).join(' '))
        .sort(),
    ).toEqual([
      '+447700900101 deliveredToTerminal',
      '+447700900102 deliveredToTerminal',
      '+447700900102 duplicate',
      '+447700900103 deliveredToTerminal',
    ]);
    const out = join(cwd, 'report.ndjson');
    await cli.volley('report', id, '--format', 'ndjson', '--out', out);
    expect(readFileSync(out, 'utf8').trimEnd().split('\n')).toHaveLength(4);
    expect(
      (await cli.volley('report', id, '--status', 'rejected')).stdout.trimEnd().split('\n'),
    ).toHaveLength(1);
  });

  test('The output of `suppress list` can be imported again, including its first line', async () => {
    await cli.volley('suppress', 'add', '+447700900197', '+447700900198');
    const printed = (await cli.volley('suppress', 'list')).stdout;
    const { output } = await cli.json('suppress', 'import', write('printed.csv', printed));
    expect(output).toMatchObject({ numberCount: 0, rows: printed.trimEnd().split('\n').length });
  });

  test('--test-to sends one sample with the values of the first valid row', async () => {
    const { exit, output } = await cli.json(...send('--test-to', '07700 900999', '--wait'));
    expect(exit).toBe(0);
    expect(output).toMatchObject({ recipientCount: 1, status: { counts: { deliveredToTerminal: 1 } } });
    const origin = simulator.stdout.match(/^ACCOUNT_BASE_URL=(.*)$/m)?.[1];
    const ledger = await (await fetch(`${origin}/_simulator/ledger`)).text();
    expect(ledger).toMatch(/"\+447700900999".*Hi O'Brien & Søn in Wells, Somerset/);
  });

  test('On a terminal, resolve shows each unknown outcome with its evidence, and asks what to do', async () => {
    const numbers = [magicNumber('acceptAndHang'), magicNumber('resetAfter', '+191')];
    const unknown = write('two.csv', `name,phone\nAnna,${numbers[0]}\nBo,${numbers[1]}\n`);
    const sent = await cli.json('send', unknown, '-s', 'ACME', '-m', 'Hi {{name}}', '--wait', '--yes');
    expect(sent.exit).toBe(3);
    const { id } = sent.output as Sent;
    const walk = (...replies: readonly string[]) =>
      onTerminal({ cwd, env: settings }, { 'or quit? ': replies }, 'resolve', id);
    // Anything else is asked again, and so is the beginning of two answers.
    const first = await walk('x', 'a', 'AB', 's');
    expect(first.messages).toContain('Type more: accepted or abandon?');
    expect(first.messages).toContain(numbers[0]);
    expect(first.messages).toContain(numbers[1]);
    expect(first.messages).toMatch(
      /sent +.* ago\)\n +unknown +since .*\n +because +\S[\s\S]*?\n +can be sent again +now\n/,
    );
    expect([first.exit, first.stdout]).toEqual([
      3,
      `Campaign ${id}: 1 request counted as not sent; 1 request left.\n`,
    ]);
    expect(await walk('quit')).toMatchObject({
      exit: 3,
      stdout: `Campaign ${id}: nothing resolved; 1 request left.\n`,
    });
    const interrupted = await walk(CTRL_C);
    expect(interrupted.exit).toBe(130);
    expect(interrupted.messages).toContain('Interrupted; the rest was left as it is.');
    // Without a terminal, it cannot ask.
    const refused = await cli.volley('resolve', id);
    expect([refused.exit, refused.stderr]).toEqual([
      2,
      expect.stringContaining('Choose how to resolve them'),
    ]);
    expect(await walk('accepted')).toMatchObject({
      exit: 0,
      stdout: `Campaign ${id}: 1 request counted as sent, without a delivery report.\n`,
    });
    for (const done of [await walk(), await cli.volley('resolve', id)]) {
      expect(done).toMatchObject({ exit: 0, stdout: `Campaign ${id}: no request has an unknown outcome.\n` });
    }
    expect((await cli.json('status', id)).output).toMatchObject({
      counts: { abandoned: 1, unknown: 0 },
    });
  });

  test('A lane can be held and resumed', async () => {
    expect((await cli.volley('lane', 'hold', 'default')).stdout).toContain('volley lane resume default');
    const held = await cli.json('lanes');
    expect(held.output).toMatchObject({ lanes: [{ name: 'default', state: 'held' }] });
    const { exit, stderr } = await cli.volley(...send('--again', '--wait'));
    expect(exit).toBe(3);
    expect(stderr).toContain('An operator must act');
    expect((await cli.json('lane', 'resume', 'default')).output).toEqual({ lane: 'default', state: 'open' });
    expect((await cli.volley('lanes')).stdout).toMatch(/^default {2}open\n.*of 500 used/s);
  });

  test('A worker that gets SIGINT drains and exits with 0', async () => {
    const second = await cli.start(/Working \(send\)/, 'work', '--roles', 'send');
    const { exit } = await second.stop();
    expect(exit).toBe(0);
  });
});

test('A command fails at once if Redis does not answer', async () => {
  const nowhere = shell({ REDIS_URL: 'redis://127.0.0.1:1' });
  const { exit, stderr } = await nowhere.volley('list');
  expect(stderr).toMatch(/Redis does not answer: .*ECONNREFUSED.*volley doctor/);
  expect(exit).toBe(1);
  // The doctor does not refer to itself.
  const { stdout } = await nowhere.volley('doctor');
  expect(stdout).toMatch(/Redis: does not answer: .*ECONNREFUSED/);
  expect(stdout).not.toMatch(/volley doctor/);
});
