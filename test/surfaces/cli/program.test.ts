import { expect, test } from 'vitest';
import { scene } from '../../scene/scene.js';

const { shell, write } = scene('cli-program');
const { volley } = shell({ API_KEY: 'the-key', SENDER_ADDRESS: '+447400100100' });

test('A short option with = is refused: the = would become part of the text', async () => {
  write('list.csv', 'phone\n+447700900123\n');
  expect(await volley('preview', 'list.csv', '-m=Hi')).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('The = in -m=Hi would be part of the value: write a space instead.'),
  });
  const shown = await volley('preview', 'list.csv', '-m', '=Hi');
  expect([shown.exit, shown.stdout]).toEqual([0, expect.stringContaining('=Hi')]);
  expect((await volley('list', '--', '-m=Hi')).stderr).toContain('Too many arguments');
});
