import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, list } = scene('cli-set-campaign', { list: 'name,phone\nAnna,+447700900101\n' });
const { volley, json } = shell();

test('A campaign is changed on the command line, and the status and the answer say how', async () => {
  const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const at = ['--at', `${day(2)}T09:00`];
  await volley(
    'send',
    list,
    '-s',
    'ACME',
    '-m',
    'Hi {{name}}',
    '--yes',
    '--window',
    'Mon-Sun 09:00-20:00',
    '--zone',
    'UTC',
    ...at,
  );
  const message = ['--message', 'Hello {{name}}'];
  const preview = await volley('set', 'last', ...message, '--preview');
  expect([preview.exit, preview.stderr, preview.stdout]).toEqual([
    0,
    '',
    expect.stringContaining('would get another text.'),
  ]);
  expect((await json('status')).output).toMatchObject({ revision: 0, message: 'Hi {{name}}' });
  const changed = await volley(
    'set',
    'last',
    ...message,
    '--window',
    'none',
    '--zone',
    'UTC',
    '--at',
    `${day(3)}T09:00`,
  );
  expect(changed.stdout).toContain('has another text, start, and window, and revision 1.');
  expect((await json('status')).output).toMatchObject({
    revision: 1,
    message: 'Hello {{name}}',
    window: null,
    sendAt: `${day(3)}T09:00:00.000Z`,
  });
  const stale = await volley('set', 'last', '--sender', 'SHOP', '--revision', '0');
  expect([stale.exit, stale.stderr]).toEqual([1, expect.stringContaining('has revision 1 by now')]);
  const other = await volley('set', 'last', '--message', 'Hi {{phone}}');
  expect([other.exit, other.stderr]).toEqual([2, expect.stringContaining('{{phone}}')]);
  expect((await volley('set', 'last', ...message)).stdout).toContain('is like that already');
});

test('A start in words, and a local one, are read as `send` reads them, and words reset what null does over HTTP', async () => {
  const tomorrow = ['--at', 'tomorrow 10:00'];
  const send = ['send', list, '-s', 'ACME', '-m', 'Hi', '--yes', '--again', ...tomorrow];
  await volley(...send, '--valid-for', '24h', '--tag', 'vip', '--tag', 'blue');
  const { output } = await json('status');
  const { sendAt } = output as { sendAt: string };
  const changed = await volley(
    'set',
    'last',
    '--at',
    'tomorrow 11:00',
    '--valid-for',
    'none',
    '--tag',
    'none',
  );
  expect([changed.exit, changed.stderr, changed.stdout]).toEqual([
    0,
    '',
    expect.stringContaining('has another set of tags, start, and validity, and revision 1.'),
  ]);
  const { output: later } = await json('status');
  expect(later).toMatchObject({ tags: [] });
  // At midnight, tomorrow becomes another day.
  expect((Date.parse((later as { sendAt: string }).sendAt) - Date.parse(sendAt)) % 86_400_000).toBe(
    3_600_000,
  );
  expect((await volley('status')).stdout).toMatch(/ · scheduled · revision 1$/m);
  const local = await volley('set', 'last', '--at', '2030-05-01T09:00');
  expect([local.exit, local.stderr]).toEqual([2, expect.stringContaining('it has no time zone. Add --zone')]);
  await volley('set', 'last', ...tomorrow, '--zone', 'Asia/Tokyo');
  // The zone of the campaign is known from now on.
  await volley('set', 'last', '--at', 'tomorrow 12:00');
  expect((await json('status')).output).toMatchObject({
    zone: 'Asia/Tokyo',
    sendAt: expect.stringMatching(/T03:00:00.000Z$/),
  });
  const past = await volley('set', 'last', '--at', '2020-05-01T09:00Z');
  expect([past.exit, past.stderr]).toEqual([2, expect.stringMatching(/use --at now to start now/)]);
  const before = Date.now();
  expect((await volley('set', 'last', '--at', 'now')).stdout).toContain('has another start');
  const { output: started } = await json('status');
  expect(Date.parse((started as { sendAt: string }).sendAt) - before).toBeLessThan(60_000);
});

test('A text with a value that the campaign lacks is refused in whole sentences', async () => {
  await volley('send', list, '-s', 'ACME', '-m', 'Hey {{name}}', '--yes', '--at', 'tomorrow 9:00');
  const { stderr } = await volley('set', 'last', '--message', '{{nme}}');
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
    'At character 1, the message has {{nme}}, but the campaign has no such value. Did you mean {{name}}? The campaign keeps the values only of {{name}}, which',
  );
  expect((await volley('set', 'last', '--message', '{{color}}')).stderr).toMatch(/no\s+such\s+value\. The/);
});
