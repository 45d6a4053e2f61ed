import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, write, folder: cwd } = scene('cli-input');
const { volley, json, piped } = shell();
const ROWS = 'name,phone\nKåre,+447700900101\nBo,+447700900102\n';
const campaign = ['-s', 'ACME', '-m', 'Hi {{name}}'];
const last = async () => (await json('status')).output;

describe('A list that Excel for Windows has saved', () => {
  test.each([
    ['Windows-1252', Buffer.from(ROWS, 'latin1'), ', for example "Kåre"'],
    ['UTF-16', Buffer.from(`\ufeff${ROWS}`, 'utf16le'), ''],
  ])('in %s is read, with a notice', async (encoding, bytes, how) => {
    const list = write(`${encoding}.csv`, bytes);
    const { exit, stdout, stderr } = await volley('preview', list, ...campaign, '--again');
    expect(stderr).toContain(`${list} is in ${encoding}, not UTF-8. Volley reads it as ${encoding}${how}.`);
    expect(stdout).toContain('Hi Kåre');
    expect(exit).toBe(0);
    const sent = await json('send', list, ...campaign, '--yes', '--again');
    expect(sent.output).toMatchObject({ recipientCount: 2 });
    expect(await last()).toMatchObject({ name: encoding });
    expect((await json('suppress', 'import', list)).exit).toBe(0);
    await volley('suppress', 'remove', '+447700900101', '+447700900102');
  });
});

test('A file that an option names is read in the folder of the shell', async () => {
  const list = write('folder.csv', ROWS);
  write('text.txt', 'Hi {{name}} from a file');
  const { exit, stdout } = await volley('preview', list, '-s', 'ACME', '-m', '@text.txt', '--again');
  expect([exit, stdout]).toEqual([0, expect.stringContaining('Hi Kåre from a file')]);
  write('options.json', '{"quota":1}');
  const { stderr } = await volley('simulator', '--options', '@options.json');
  expect(stderr).toContain('quota');
});

test('What cannot be opened fails where it is read, and ends nothing if the list is refused before', async () => {
  const socket = createServer().listen(join(cwd, 'socket'));
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  const refused = await volley('send', 'socket', ...campaign, '--template', 'other', '--yes');
  expect([refused.exit, refused.stderr]).toEqual([2, expect.stringContaining('A campaign has one text')]);
  const read = await volley('preview', 'socket', ...campaign);
  expect([read.exit, read.stderr]).toEqual([
    2,
    expect.stringContaining('is a socket or a device, not a file'),
  ]);
});

describe('Standard input', () => {
  test('can be the list', async () => {
    const { exit, stderr } = await piped(ROWS, 'send', '-', ...campaign, '--yes', '--again');
    expect([exit, stderr]).toEqual([0, expect.not.stringContaining('volley:')]);
    expect(await last()).toMatchObject({ name: 'standard input', counts: { total: 2 } });
  });

  test('can be a list with invalid rows, which are written to a file in this folder', async () => {
    await piped(`${ROWS}Cy,12\n`, 'send', '-', ...campaign, '--yes', '--again', '--skip-invalid');
    expect(readdirSync(cwd)).toContain('stdin.invalid.csv');
  });

  test('can be the text, without the line break that echo adds', async () => {
    const list = write('list.csv', ROWS);
    const { stdout } = await piped('Dear {{name}}\n', 'preview', list, '-s', 'ACME', '-m', '-', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ samples: [{ text: 'Dear Kåre' }, { text: 'Dear Bo' }] });
  });

  test('can be numbers to suppress, to find, and to send a sample to', async () => {
    const numbers = '+447700900111\r\n\n +44 7700 900112 \n';
    expect((await piped(numbers, 'suppress', 'add', '-')).stdout).toContain('2 numbers added');
    expect((await piped(numbers, 'suppress', 'remove', '-')).stdout).toContain('2 numbers removed');
    const { stdout } = await piped('+447700900101\n', 'find', '-', '--json');
    expect(JSON.parse(stdout).found[0]).toMatchObject({ to: '+447700900101' });
    expect(await piped(numbers, 'find', '-')).toMatchObject({ exit: 2 });
    const list = join(cwd, 'list.csv');
    const sample = await piped('+447700900155\n', 'send', list, ...campaign, '--test-to', '-', '--yes');
    expect(sample.exit).toBe(0);
    expect((await volley('report', 'last')).stdout).toContain('+447700900155');
  });
});
