import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, write } = scene('cli-template', {
  settings: { SENDER_ADDRESS: 'ACME', MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1' },
});
write('list.csv', 'phone,name\n+447700900123,Ada\n');
write('text.txt', 'Dear {{name}}\n');
const { volley, json } = shell();
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

test('A text is saved, listed with its columns, and deleted', async () => {
  expect((await volley('template', 'list')).stdout).toContain('There are no templates.');
  const put = await volley('template', 'put', 'reminder', '--message', '@text.txt', '--sender', 'SHOP');
  expect(put).toMatchObject({ exit: 0, stdout: 'Template reminder is saved.\n' });
  const lines = (await volley('template', 'list')).stdout.split('\n');
  expect(lines.slice(0, 2).map(oneLine)).toEqual([
    'NAME SENDER COLUMNS TEXT',
    'reminder SHOP name Dear {{name}}',
  ]);
  await volley('template', 'put', 'other', '--message', 'Hi');
  expect(await volley('template', 'delete', 'other')).toMatchObject({
    stdout: 'Template other is deleted.\n',
  });
  const again = await volley('template', 'delete', 'other');
  expect([again.exit, oneLine(again.stderr)]).toEqual([
    2,
    'volley: Lane default has no template other; `volley template list` shows all.',
  ]);
});

test('A campaign, its preview, its sample, and a schedule use a saved text', async () => {
  const saved = ['list.csv', '--template', 'reminder'];
  expect((await json('preview', ...saved)).output).toMatchObject({
    message: 'Dear {{name}}',
    sender: 'SHOP',
  });
  const sample = await json('send', ...saved, '--test-to', '+447700900199', '--yes');
  expect(sample).toMatchObject({ exit: 0, output: { recipientCount: 1 } });
  const sent = await json('send', ...saved, '--yes');
  const { output } = await json('status', Object(sent.output).id);
  expect(output).toMatchObject({ message: 'Dear {{name}}', sender: 'SHOP' });
  const times = ['--cron', '0 9 * * 1', '--zone', 'UTC'];
  const added = await json('schedule', 'add', ...saved, ...times);
  expect(added.output).toMatchObject({ campaign: { message: 'Dear {{name}}', sender: 'SHOP' } });
});

test('A campaign needs one text, whose columns its list has', async () => {
  await volley('template', 'put', 'unfit', '--message', 'Hi {{surname}}');
  const refused = async (...options: readonly string[]) => {
    const { exit, stderr } = await volley('send', 'list.csv', ...options, '--yes');
    return [exit, oneLine(stderr).replace(/ Add --help.*/, '')];
  };
  expect(await refused()).toEqual([
    2,
    'volley: The option --message <text|@file|-> or --template <name> is missing.',
  ]);
  expect(await refused('--message', 'Hi', '--template', 'reminder')).toEqual([
    2,
    'volley: A campaign has one text: give either a message or a template.',
  ]);
  const unfit =
    /Template unfit.*: at character 4, the message has {{surname}}, but the list has no such column/i;
  expect(await refused('--template', 'unfit')).toEqual([2, expect.stringMatching(unfit)]);
  const sample = ['--template', 'unfit', '--test-to', '+447700900199'];
  expect(await refused(...sample)).toEqual([2, expect.stringMatching(unfit)]);
});

test('Without Redis, a preview says that it cannot read a saved text', async () => {
  const alone = shell({ REDIS_URL: 'redis://127.0.0.1:1' });
  const { exit, stderr } = await alone.volley('preview', 'list.csv', '--template', 'reminder');
  expect(exit).toBe(2);
  expect(oneLine(stderr)).toContain('Template reminder cannot be read without Redis: start Redis, or');
});
