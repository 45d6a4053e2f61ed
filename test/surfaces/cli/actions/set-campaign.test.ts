import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, list } = scene('cli-set-campaign', { list: 'name,phone\nAnna,+447700900101\n' });
const { volley, json } = shell();

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
