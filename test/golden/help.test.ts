import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createContext } from '../../src/surfaces/cli/context/context.js';
import { createProgram, run } from '../../src/surfaces/cli/program.js';

function terminal() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  return {
    env: { VOLLEY_COMMAND: 'volley' },
    cwd: '/',
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    clock: () => 0,
    printed: () => String(stdout.read() ?? ''),
  };
}

/** The words of every command and subcommand, the program itself first. */
function paths(command: Command): string[][] {
  const below = command.commands.flatMap((each) => paths(each).map((path) => [each.name(), ...path]));
  return [[], ...below];
}

test('The help of each command is that in help.txt', async () => {
  const pages: string[] = [];
  for (const path of paths(createProgram(createContext(terminal(), false)))) {
    const io = terminal();
    await run([...path, '--help'], io);
    pages.push(`$ ${['volley', ...path, '--help'].join(' ')}\n${io.printed()}`);
  }
  expect(pages.length).toBeGreaterThan(60);
  await expect(pages.join('\n')).toMatchFileSnapshot('files/help.txt');
});
