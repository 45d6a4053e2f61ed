import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';
import { onTerminal } from '../on-terminal.js';

const { shell, settings: env } = scene('cli-outbox-set', {
  settings: {
    MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1',
    API_KEY: 'k',
    SENDER_ADDRESS: 'ACME',
  },
});
const cwd = process.cwd();
const { volley, json } = shell({}, cwd);
const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();

let outboxes = 0;

/** An outbox with messages for appointments in so many hours, of which it reminds an hour before. Returns its name. */
async function outboxWith(...hours: readonly number[]): Promise<string> {
  outboxes += 1;
  const name = `dentist-${outboxes}`;
  const settings = ['--message', 'Hi {{name}}', '--send-rule', 'appointment - 1h', '--zone', 'Europe/London'];
  expect((await volley('outbox', 'create', name, ...settings)).exit).toBe(0);
  for (const [at, hour] of hours.entries()) {
    const message = ['--set', 'name=Ada', '--set', `appointment=${inHours(hour)}`];
    expect((await volley('outbox', 'put', name, `a${at}`, '+447700900123', ...message)).exit).toBe(0);
  }
  return name;
}

const settingsOf = async (name: string) => (await json('outbox', 'show', name)).output;

test('The preview of a change counts what would get another time, be due at once, and lapse, and changes nothing', async () => {
  const name = await outboxWith(2, 30, 60);
  const before = await settingsOf(name);
  // That was 22 hours ago for the first. Messages may be an hour late.
  const change = ['outbox', 'set', name, '--send-rule', 'appointment - 24h', '--preview'];
  expect(await json(...change)).toEqual({
    exit: 0,
    output: { name, changed: ['sendRule'], waiting: 3, moved: 3, dueNow: 0, lapsing: 1, unfit: [] },
  });
  expect((await volley(...change)).stdout.split('\n').slice(0, 4)).toEqual([
    `Outbox ${name} would get another time rule.`,
    '  3 waiting',
    '  3 of them at another time',
    '  1 of them lapse, because it is too late',
  ]);
  expect((await json(...change, '--late', '1d')).output).toMatchObject({ dueNow: 1, lapsing: 0 });
  expect(await settingsOf(name)).toEqual(before);
});

test('The preview of a text with a new value names the value and the messages that lack it', async () => {
  const name = await outboxWith(30, 60);
  const { exit, stdout } = await volley('outbox', 'set', name, '-m', 'Hi {{doctor}}', '--preview');
  expect([exit, stdout]).toEqual([
    2,
    expect.stringContaining(
      '2 cannot be sent: `doctor` is missing, but the message uses {{doctor}} (a0, a1)',
    ),
  ]);
});

test('A change is made once the question, which shows its effect, is answered with yes', async () => {
  const name = await outboxWith(30, 60);
  const before = await settingsOf(name);
  const change = ['outbox', 'set', name, '--message', 'Hello {{name}}'];
  const question = `Change the text of outbox ${name}, for 2 waiting messages too?`;
  const declined = await onTerminal({ cwd, env }, { [question]: ['n'] }, ...change);
  expect(declined).toMatchObject({ exit: 1, messages: expect.stringContaining('  2 waiting\n') });
  expect(declined.messages).toContain('Nothing was changed.');
  expect(await settingsOf(name)).toEqual(before);

  const done = await onTerminal({ cwd, env }, { [question]: ['y'] }, ...change);
  expect(done).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('No waiting message is sent as before.'),
  });
  expect((await json('outbox', 'message', name, 'a0')).output).toMatchObject({ text: 'Hello Ada' });
});

test('Without a terminal, --yes makes a change, and a repeat says that there is none', async () => {
  const name = await outboxWith(30);
  const change = [
    'outbox',
    'set',
    name,
    '-m',
    'Hi {{name}}, see Dr {{doctor}}',
    '--value',
    'doctor=Who',
    '--yes',
  ];
  const done = await volley(...change);
  expect([done.exit, done.stdout]).toEqual([0, expect.stringContaining(`Outbox ${name} has another text.`)]);
  const again = await volley(...change);
  expect([again.exit, again.stdout]).toEqual([0, `Outbox ${name} has these settings already.\n`]);
});
