import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { moment } from '../../../src/surfaces/cli/commands/option-values.js';
import { scene } from '../../scene/scene.js';

const {
  shell,
  folder: cwd,
  list,
  storedKeys,
  write,
} = scene('cli-bad-input', { list: 'name,phone\nAnna,+447700900101\n' });
const rows = Array.from({ length: 30 }, (_, at) => `Bo ${at},+44 12${at}`);
const messy = write('messy.csv', `name,phone\nAnna,+447700900101\n${rows.join('\n')}\n`);

const { volley } = shell();

const send = (...args: readonly string[]): readonly string[] => [
  'send',
  list,
  '-m',
  'Hi',
  '-s',
  'ACME',
  '--yes',
  ...args,
];

const wrong: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [['send', list, '--yes'], /The option --message .* is missing\./],
  [['send', '-m', 'Hi'], /The argument <file> is missing\./],
  [['send', list, '-m', 'Hi', '-s', 'ACME'], /Add --yes .*`preview`/s],
  [['send', list, '-m', '@nowhere.txt', '--yes'], /--message.*There is no file "nowhere.txt"/],
  [['send', list, '-m', 'Hi {{nmae}}', '-s', 'ACME', '--yes'], /\{\{nmae\}\}.*Did you mean \{\{name\}\}/],
  [['send', join(cwd, 'missing.csv'), '-m', 'Hi', '-s', 'ACME', '--yes'], /There is no file .*missing\.csv/],
  [['send', list, '-m', 'Hi', '-s', 'A name that is far too long', '--yes'], /sender/i],
  [
    send('--at', '2001-01-01T00:00Z'),
    /--at.*the time has passed \(it is .* now\)\. Leave out --at to send immediately/,
  ],
  [
    send('--at', '2030-05-01T09:00'),
    /--at.*no time zone\. Add --zone \S+ for this machine's time, or write 2030-05-01T09:00Z for UTC/,
  ],
  [
    send('--at', '2030-05-01T09:00', '--zone', 'Europe/Pari'),
    /no time zone "Europe\/Pari"\. Did you mean Europe\/Paris/,
  ],
  [
    send('--at', '2030-03-31T02:30', '--zone', 'Europe/Paris'),
    /--at.*Europe\/Paris skips when its clocks go forward/,
  ],
  [
    send('--at', '2030-10-27T02:30', '--zone', 'Europe/Paris'),
    /--at.*Europe\/Paris has twice when its clocks go back/,
  ],
  [send('--at', 'soon'), /The value 'soon' of --at is not valid\. Use a time such as "tomorrow 9:00"/],
  [send('--valid-for', '24'), /--valid-for.*72h/],
  [send('--max-cost', '5,00'), /--max-cost.*such as 50 or "49\.90 EUR"/],
  [send('--max-cost', '50'), /A cost limit needs prices: set PRICE_PER_SEGMENT or PRICE_FILE/],
  [send('--priority', 'urgent'), /--priority.*high, normal/],
  [send('--country', 'UK'), /'UK' of --country is not valid.*use GB/],
  [['find', '07700 900123', '--country', 'Britain'], /--country.*not a country code/],
  [send('--lane', 'nowhere'), /lane.*nowhere.*default/],
  [send('--to-column', 'mobile'), /mobile.*"phone"/],
  [send('--test-to', '12'), /--test-to.*"12"/],
  [send('--test-to', '0770'), /--test-to.*"0770" has no calling code.*--country/],
  [send('--test-to', '+447700900101', '--at', '2099-01-01T00:00Z'), /--test-to and --at/],
  [send('--idempotency-key', ' '), /--idempotency-key.*It is empty/],
  [send('--prioritty', 'high'), /Unknown option '--prioritty'.*--priority/s],
  [['send', list, '--mesage', 'Hi', '--yes'], /Unknown option '--mesage'.*--message/s],
  [['preview', '--mesage', 'Hi'], /Unknown option '--mesage'.*--message/s],
  [['keys', 'create', '--nmae', 'shop'], /Unknown option '--nmae'.*--name/s],
  [['keys', 'create', '--name', 'shop'], /The option --scope <scopes> is missing\./],
  [['simulator', '--options', '@nowhere.json'], /--options.*There is no file nowhere.json/],
  [['send', cwd, '-m', 'Hi', '-s', 'ACME', '--yes'], /is a folder/],
  [['suppress', 'import', cwd], /is a folder/],
  [['preview', list], /The option --message .* is missing\./],
  [['list', '--state', 'runing'], /--state.*Did you mean running/],
  [['list', '--limit', '0'], /--limit.*from 1 to 10000/],
  [['status', 'nothing'], /no campaign nothing.*volley list/],
  [['pause', 'nothing'], /no campaign nothing/],
  [['resume', 'nothing'], /no campaign nothing/],
  [['cancel', 'nothing', '--yes'], /no campaign nothing/],
  [['cancel', 'nothing'], /not a terminal.*Add --yes/],
  [['report', 'nothing'], /no campaign nothing/],
  [['report', 'x', '--format', 'xml'], /--format.*csv, ndjson/],
  [['report', 'x', '--status', 'DeliveredToTerminl'], /--status.*Did you mean deliveredToTerminal/],
  [['resolve', 'nothing'], /no campaign nothing/],
  [['resolve', 'nothing', '--request', '1'], /no campaign nothing/],
  [['resolve', 'nothing', '--resend', '--abandon'], /'--resend' cannot be used with option '--abandon'/],
  [['resolve', 'nothing', '--abandon'], /no campaign nothing/],
  [['find', 'someone'], /someone/],
  [['lane', 'hold', 'nowhere'], /no lane nowhere.*default/],
  [['lane', 'resume', 'nowhere'], /no lane nowhere.*default/],
  [['suppress', 'add', '+447700900101', 'someone'], /someone/],
  [['suppress', 'import', join(cwd, 'missing.csv')], /There is no file/],
  [['work', '--roles', 'sned'], /--roles.*Did you mean send/],
  [['work', '--concurrency', 'many'], /--concurrency.*from 1/],
  [
    ['work'],
    /MESSAGING_BASE_URL must be set.*API_KEY must be set|API_KEY must be set.*MESSAGING_BASE_URL must be set/s,
  ],
  [['up', '--simulator'], /simulator runs and REDIS_URL is set.*Unset REDIS_URL/],
  [['simulator', '--port', '70000'], /--port.*65535/],
  [['simulator', '--options', '{'], /--options.*Use JSON/],
  [['simulator', '--options', '{"quota":1}'], /quota/],
  [['token', 'show'], /API_KEY must be set/],
  [['tokn'], /Unknown command 'tokn'.*token/s],
  [['help', 'tokn'], /Unknown command 'tokn'.*token/s],
  [['list', 'extra'], /Too many arguments/],
];

test.each(wrong)(
  'volley %j explains what is wrong, exits with 2, and stores nothing',
  async (args, message) => {
    const { exit, stdout, stderr } = await volley(...args);
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
    expect(exit).toBe(2);
    expect(await storedKeys()).toEqual([]);
  },
);

test('The simulator names a port that is in use and suggests another', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { exit, stderr } = await volley('simulator', '--port', String(port));
  expect([exit, stderr]).toEqual([
    2,
    expect.stringContaining(`Port ${port} is in use. Choose another with --port`),
  ]);
});

test('A list with invalid rows is refused as a whole, and the first 20 rows are listed by line, column, and reason', async () => {
  const { exit, stderr } = await volley('send', messy, '-m', 'Hi', '-s', 'ACME', '--yes');
  expect(exit).toBe(2);
  expect(stderr).toContain('30 of 31 rows are invalid. Nothing was sent.');
  expect(stderr).toMatch(/^ {2}line 3, column "phone"[ :].*120/m);
  expect(stderr.match(/^ {2}line /gm)).toHaveLength(20);
  expect(stderr).toContain('… and 10 more');
  expect(stderr).toContain('--skip-invalid');
  expect(await storedKeys()).toEqual([]);
});

test('A list with only invalid rows is refused even with --skip-invalid, and the rows are listed', async () => {
  const file = write('bad.csv', 'phone\n12\n13\n');
  const options = ['-m', 'Hi', '-s', 'ACME', '--to-column', 'phone', '--skip-invalid', '--yes'];
  const { exit, stderr } = await volley('send', file, ...options);
  expect(exit).toBe(2);
  expect(stderr).toContain('2 of 2 rows are invalid. Nothing was sent.');
  expect(stderr).toMatch(/^ {2}line 3, column "phone"[ :].*13/m);
  expect(stderr).not.toContain('leave them out');
});

test('With --json, an error is one object on standard output and a message on standard error', async () => {
  const { exit, stdout, stderr } = await volley('send', messy, '-m', 'Hi', '-s', 'ACME', '--yes', '--json');
  expect(exit).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({
    error: { code: 'invalidRows', invalid: 30, rows: 31, errors: { length: 20 } },
  });
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  expect(stderr).toContain('rows are invalid');
  const parsed = await volley('list', '--limit', 'x', '--json');
  expect(JSON.parse(parsed.stdout)).toMatchObject({ error: { code: 'badInput' } });
});

test('--json is no consent: without --yes and without a terminal, nothing is sent', async () => {
  const { exit, stdout } = await volley('send', list, '-m', 'Hi', '-s', 'ACME', '--json');
  expect(exit).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({ error: { message: expect.stringContaining('Add --yes') } });
  expect(await storedKeys()).toEqual([]);
});

test('The time in the help of send is one that send accepts, whatever the date', async () => {
  const { stdout } = await volley('send', '--help');
  const times = [...stdout.matchAll(/\b\d{4}-\d{2}-\d{2}T[\d:]+(?:Z|[+-]\d{2}:\d{2})/g)].map(
    ([time]) => time,
  );
  expect(times).toHaveLength(2);
  for (const time of times) {
    const ahead = moment(time, Date.now) - Date.now();
    expect(ahead).toBeGreaterThan(0);
    // The least MAX_SCHEDULE_AHEAD that people set is a few days.
    expect(ahead).toBeLessThan(2 * 86_400_000);
  }
});

test('Every command has help with an example', async () => {
  const { stdout } = await volley('--help');
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) (?:\[options\]|\[command\]| )/gm)].map(
    ([, name = '']) => name,
  );
  expect(commands.length).toBeGreaterThan(17);
  for (const name of commands.filter((command) => command !== 'help')) {
    const help = await volley(name, '--help');
    expect(help.exit).toBe(0);
    expect(help.stdout, `${name}: a default shown as code`).not.toContain('(default: [');
    const subcommands = [...help.stdout.matchAll(/^ {2}([a-z]+) \[options\]/gm)].map(([, sub = '']) => sub);
    expect(help.stdout, name).toMatch(new RegExp(`\\$ volley ${name}`));
    for (const sub of subcommands) {
      expect((await volley(name, sub, '--help')).stdout).toMatch(new RegExp(`\\$ volley ${name} ${sub}`));
    }
  }
});

test('Numbers without a country share one line, which names the country to add', async () => {
  const national = Array.from({ length: 323 }, (_, at) => `Bo,07700 900${100 + at}`);
  const file = write('national.csv', `name,phone\nAnna,+447700900101\n${national.join('\n')}\nCy,someone\n`);
  const lines = [
    '  lines 3, 4, 5, …, column "phone": 323 numbers have no calling code; add --country GB',
    '  line 326, column "phone": "someone" is not a phone number; write one number such as +447700900123',
  ].join('\n');
  const preview = await volley('preview', file, '-m', 'Hi', '-s', 'ACME');
  expect(preview.exit).toBe(2);
  expect(preview.stdout).toContain(`324 invalid rows:\n${lines}\n`);
  expect(preview.stdout).toContain(
    '`volley send` would refuse this list: 324 of 325 rows are invalid. Add --country GB, and fix the others, or leave them out with --skip-invalid.',
  );
  const send = await volley('send', file, '-m', 'Hi', '-s', 'ACME', '--yes');
  expect([send.exit, send.stderr]).toEqual([2, expect.stringContaining(lines)]);
  expect(await storedKeys()).toEqual([]);
  expect((await volley('preview', file, '-m', 'Hi', '-s', 'ACME', '--skip-invalid')).exit).toBe(0);
  write('national.csv', `name,phone\n${national.join('\n')}\n`);
  const all = await volley('preview', file, '-m', 'Hi', '-s', 'ACME');
  expect(all.stdout).toContain('323 of 323 rows are invalid. Add --country with their country');
});
