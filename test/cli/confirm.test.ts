import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { run } from '../../src/cli/program.js';
import { testRedis } from '../redis/test-redis.js';
import { commandLine } from './command-line.js';

const { url, prefix } = testRedis('cli-asking');
const cwd = mkdtempSync(join(tmpdir(), 'volley-asking-'));
const list = join(cwd, 'list.csv');
writeFileSync(list, 'name,phone\nAnna\u001b[31m,+447700900101\n');
const settings = { REDIS_URL: url, REDIS_PREFIX: prefix };

/** Runs a command on a terminal. The user types `reply` to its question, or presses Ctrl-D if it is undefined. */
async function onTerminal(
  reply: string | undefined,
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
) {
  const stream = (): PassThrough => Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 40 });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  let messages = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    messages += text;
    if (!text.includes('[y/N]')) return;
    if (reply === undefined) stdin.end();
    else stdin.write(`${reply}\n`);
  });
  const exit = await run(args, {
    env: { ...settings, ...env },
    cwd,
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    clock: Date.now,
  });
  return { exit, messages, stdout: String(stdout.read() ?? '') };
}

const send = ['send', list, '-s', '447700900000', '-m', 'Hi {{name}}'];
const campaigns = async (): Promise<unknown> => (await commandLine(cwd, settings).json('list')).output;

test.each([['n'], [''], ['maybe'], [undefined]])(
  'On a terminal, the reply %j to the question sends nothing',
  async (reply) => {
    const { exit, messages, stdout } = await onTerminal(reply, { NO_COLOR: '1' }, ...send);
    expect(messages).toContain('1 of 1 row, numbers in column "phone"');
    expect(messages).toContain('+447700900101  Hi Anna·[31m');
    expect(messages).toContain('Send to 1 recipient?');
    expect(messages).toContain('Nothing was sent.');
    expect(stdout).toBe('');
    expect(exit).toBe(1);
    expect(await campaigns()).toEqual({ campaigns: [] });
  },
);

test('On a terminal, the reply y to the question sends the campaign', async () => {
  const { exit, stdout } = await onTerminal('y', { NO_COLOR: '1' }, ...send);
  expect(stdout).toMatch(/^Campaign \w+: 1 recipient\.\n/);
  expect(exit).toBe(0);
  expect(await campaigns()).toMatchObject({ campaigns: [{ name: 'list' }] });
});

test('Output has colours on a terminal, but not with NO_COLOR or in a file', async () => {
  const colour = '\u001b[';
  expect((await onTerminal('', {}, 'lanes')).stdout).toContain(colour);
  expect((await onTerminal('', { NO_COLOR: '1' }, 'lanes')).stdout).not.toContain(colour);
  expect((await commandLine(cwd, settings).volley('lanes')).stdout).not.toContain(colour);
});
