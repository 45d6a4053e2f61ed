import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { createContext } from '../../../../src/surfaces/cli/context/context.js';
import { createProgram } from '../../../../src/surfaces/cli/program.js';
import { scene } from '../../../scene/scene.js';

const { shell, write, folder: cwd } = scene('cli-suggestions');
const account = { MESSAGING_BASE_URL: 'http://127.0.0.1:9/v1', API_KEY: 'k' };
const examples = fileURLToPath(new URL('../../../../examples/', import.meta.url));
write('list.csv', 'name,phone\nAnna,+447700900101\n');
const send = ['send', 'list.csv', '-s', 'ACME', '-m', 'Hi', '--yes', '--again'] as const;

describe('Where no worker runs, a campaign suggests', () => {
  test('to write the settings of an account if there are none', async () => {
    const cli = shell();
    const sent = await cli.volley(...send);
    expect(sent.stderr).toMatch(/No worker is running, so nothing is sent\. .*: volley init\n$/);
    expect((await cli.volley('status')).stdout.replace(/\n\s+/g, ' ')).toContain('volley init');
    const { stdout } = await cli.volley('doctor');
    expect(stdout).toMatch(/workers: none is running.*\n.*: volley init\n/);
    // The simulator starts its own Redis, so it would not serve this campaign.
    expect(sent.stderr + stdout).not.toContain('--simulator');
  });

  test('to add them to .env if there is one, which init does not overwrite', async () => {
    write('set-up/list.csv', 'phone\n+447700900101\n');
    const folder = dirname(write('set-up/.env', 'DEFAULT_COUNTRY=GB\n'));
    const { stderr } = await shell({}, folder).volley(...send);
    expect(stderr).toMatch(/add its settings to \.env, as \S*\.env\.example describes/);
  });

  test('to correct settings that are not complete', async () => {
    const { stderr } = await shell({ API_KEY: 'k' }).volley(...send);
    expect(stderr).toMatch(/First correct the settings\. .*: volley doctor\n$/);
  });

  test('a worker if there are settings', async () => {
    const cli = shell({ ...account });
    expect((await cli.volley(...send)).stderr).toMatch(/To start one: volley work\n$/);
    expect((await cli.volley('status')).stdout).toContain('To start one: volley work');
  });
});

/** The examples of the help, as the arguments of the program. */
function examplesOf(): string[][] {
  const { stdin } = process;
  let printed = '';
  const stream = { write: (text: string) => (printed += text) } as unknown as NodeJS.WriteStream;
  const io = { env: {}, cwd, stdin, stdout: stream, stderr: stream, clock: Date.now };
  const show = (command: Command): void => {
    command.outputHelp();
    command.commands.forEach(show);
  };
  show(createProgram(createContext(io, false)));
  const lines = [...printed.matchAll(/^ {2}\$ \S*volley (.*)$/gm)].flatMap(([, line]) => line ?? []);
  return [...new Set(lines)].map((line) =>
    [...line.replace(/ > .*$/, '').matchAll(/"([^"]*)"|'([^']*)'|\S+/g)].map(
      ([word, quoted, single]) => quoted ?? single ?? word,
    ),
  );
}

/** These run until they are stopped, ask questions, need the service, a contract, or a key of their own, or change what the others use. */
const ELSEWHERE =
  /^(?:up|work|serve|simulator|init|conformance|token|subscription|records|outbox)\b|^webhook (?:test|assign)\b|--(?:wait|watch|provided|to-results-of)\b|^lane (?:rename|add|set|show|remove)\b/;

describe('An example of the help works when pasted', () => {
  const cli = shell({ ...account, SECRETS_KEY: 'a'.repeat(64) });
  beforeAll(async () => {
    await cli.volley('webhook', 'add', 'https://shop.example/volley');
    await cli.volley(...send);
    await cli.volley('keys', 'create', '--name', 'shop', '--scope', 'read');
    await cli.volley('suppress', 'add', '+447700900999');
    const when = ['--cron', '0 9 * * 1', '--zone', 'Europe/London'];
    await cli.volley('schedule', 'add', 'list.csv', '--id', 'x', ...when, '-s', 'ACME', '-m', 'Hi');
  });

  // The last campaign is sent to the list, not to a test number. Nothing can be done with a cancelled campaign afterwards.
  const all = [/--test-to/, /^(?!cancel|delete|.*--test-to)/, /^cancel/, /^delete/].flatMap((order) =>
    examplesOf().filter((words) => order.test(words.join(' ')) && !ELSEWHERE.test(words.join(' '))),
  );

  test('There are many', () => expect(all.length).toBeGreaterThan(35));

  test.each(all.map((words) => [words.join(' '), words] as const))('%s', async (line, words) => {
    // On a terminal, these ask.
    const asks = /^(?:send|cancel|delete|forget)\b/.test(line) && !line.includes('--yes') ? ['--yes'] : [];
    const settles = line === 'resolve last' ? ['--abandon'] : [];
    const { exit, stderr } = await cli.volley(
      ...words.map((word) => word.replace(/(^@?)\S*examples\//, `$1${examples}`)),
      ...asks,
      ...settles,
    );
    // Doctor finds that nothing listens at the address of the service.
    expect([line, exit, stderr]).toEqual([line, line.startsWith('doctor') ? 1 : 0, expect.any(String)]);
  });
});
