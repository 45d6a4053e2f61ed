import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { lanesFile, prefix, shell } = scene('cli-outbox');
const { volley, json, piped } = shell(
  { MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1', API_KEY: 'k', SENDER_ADDRESS: 'ACME' },
  process.cwd(),
);
const LIST = fileURLToPath(new URL('../../../../examples/appointments.csv', import.meta.url));

test('A list is imported into an outbox, whose messages are due at times of its zone', async () => {
  const create = ['outbox', 'create', 'dentist', '--message', 'Hi {{name}}, {{appointment}}'];
  const rule = ['--send-rule', 'appointment - 24h', '--zone', 'Europe/London', '--late', '2h'];
  expect((await volley(...create, ...rule)).stdout).toContain('Outbox dentist is ready');
  expect(await json('outbox', 'import', 'dentist', LIST, '--id-column', 'id')).toMatchObject({
    exit: 0,
    output: {
      destination: 'sms.example',
      messageCount: 3,
      counts: { created: 3, refused: 0 },
      errors: [],
      warnings: [],
    },
  });
  expect((await volley('outbox', 'import', 'dentist', LIST)).stdout).toContain(
    '3 messages via sms.example: 3 unchanged',
  );
  const put = ['outbox', 'put', 'dentist', 'appt-17', '+447700900123', '--set', 'name=Ada'];
  expect((await volley(...put, '--set', 'appointment=2030-05-01T16:30')).stdout).toContain(
    'It is due at Tue 30 Apr 2030 16:30 BST via sms.example.',
  );
  const due = 'Tue 30 Apr 2030 15:00 BST';
  expect((await volley('outbox', 'show', 'dentist')).stdout).toContain(`next due  ${due}`);
  expect((await volley('outbox', 'list')).stdout).toContain(due);
});

test('Ids and references are printed without characters that control a terminal', async () => {
  await volley('outbox', 'create', 'hostile', '--message', 'Hi', '--sender', 'ACME');
  const [id, reference] = ['a\u001b[31m\u009b2J', 'b\u202e\u0007\u007f'];
  const put = await volley(
    ...['outbox', 'put', 'hostile', id, '+447700900123'],
    ...['--send-at', '2030-01-01T00:00:00Z', '--reference', reference],
  );
  const csv = await volley('outbox', 'report', 'hostile');
  const rows = await volley('outbox', 'report', 'hostile', '--json');
  const one = await volley('outbox', 'message', 'hostile', id, '--json');
  const unknown = await volley('outbox', 'show', 'hostile', `${id}2`);
  for (const { stdout, stderr } of [put, csv, rows, one, unknown])
    expect(`${stdout}${stderr}`.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
  expect(csv.stdout).toContain('a\\u001b[31m\\u009b2J');
  expect(JSON.parse(rows.stdout)).toMatchObject({ rows: [{ id, reference }] });
  expect(JSON.parse(one.stdout)).toMatchObject({ id, reference });
});

test('An outbox whose name several lanes use needs --lane, and the error lists the lanes', async () => {
  const twoLanes = shell({ REDIS_PREFIX: `${prefix}-lanes`, LANES_FILE: lanesFile(['east', 'west']) });
  for (const lane of ['east', 'west'])
    await twoLanes.volley('outbox', 'create', 'codes', '-m', `From ${lane}`, '-s', 'ACME', '--lane', lane);
  const { exit, stderr } = await twoLanes.volley('outbox', 'pause', 'codes');
  expect([exit, stderr]).toEqual([2, expect.stringContaining('choose east or west. Add --lane <name>.')]);
  const paused = await twoLanes.volley('outbox', 'pause', 'codes', '--lane', 'west');
  expect(paused.stdout).toContain('volley outbox resume codes --lane west');
});

test('The bookings of the guide to reminders can be imported into its outbox, without a warning about their ids', async () => {
  const bookings = fileURLToPath(new URL('../../../../examples/bookings.csv', import.meta.url));
  const message = 'Hi {{guest}}, your table at {{restaurant}} is booked for {{when}}.';
  const rule = ['--send-rule', 'visit - 2h', '--zone', 'Europe/London', '--late', '1h'];
  await volley('outbox', 'create', 'guests', '--message', message, ...rule);
  expect(await json('outbox', 'import', 'guests', bookings, '--id-column', 'booking')).toMatchObject({
    output: { counts: { created: 3 }, warnings: [] },
  });
});

test('A list can be NDJSON, with the versions of its messages', async () => {
  await volley('outbox', 'create', 'orders', '--message', 'Order {{order}} is ready');
  const message = { id: 'a', to: '+447700900123', order: 'a', sendAt: '2030-05-01T12:00Z', version: 3 };
  const imported = await piped(`${JSON.stringify(message)}\n`, 'outbox', 'import', 'orders', '-');
  expect(imported.stdout).toContain('1 message via sms.example: 1 created');
  const stale = await json('outbox', 'cancel', 'orders', 'a', '--version', '2');
  expect(stale).toMatchObject({ exit: 1, output: { error: { code: 'stale' } } });
});

test('The text of an outbox and the number of a message can come from standard input', async () => {
  await piped('Your code is {{code}}\n', 'outbox', 'create', 'codes', '--message', '-');
  expect((await volley('outbox', 'show', 'codes')).stdout).toContain('text      Your code is {{code}}\n');
  const at = ['--set', 'code=42', '--send-at', '2030-05-01T12:00Z'];
  const put = await piped('+447700900123\n', 'outbox', 'put', 'codes', 'a', '-', ...at);
  expect(put.stdout).toContain('Message a is stored.');
  expect((await volley('outbox', 'message', 'codes', 'a')).stdout).toContain('to        +447700900123');
  expect((await piped('+447700900123\n', 'find', '-')).stdout).toContain('not suppressed');
});
