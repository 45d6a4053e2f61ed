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
