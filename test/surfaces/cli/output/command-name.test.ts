import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createContext } from '../../../../src/surfaces/cli/context/context.js';
import { COMMANDS, commandName, pasteable } from '../../../../src/surfaces/cli/output/command-name.js';
import { createProgram } from '../../../../src/surfaces/cli/program.js';
import { temporaryFolder } from '../../../scene/closing.js';

const stream = () => new PassThrough() as unknown as NodeJS.WriteStream & NodeJS.ReadStream;
const io = { env: {}, cwd: '/', stdin: stream(), stdout: stream(), stderr: stream(), clock: () => 0 };
const program = createProgram(createContext(io, false));
const commands = (parent: Command): Command[] =>
  parent.commands.flatMap((command) => (command.commands.length > 0 ? commands(command) : [command]));
const nameOf = (command: Command): string =>
  command.parent === null ? '' : `${nameOf(command.parent)} ${command.name()}`.trim();

describe('Suggestions name Volley as it was called', () => {
  const cwd = '/home/me/list';
  const path = { PATH: '/usr/bin:/usr/local/bin' };
  test.each([
    [
      'npx volley',
      '/home/me/list/node_modules/.bin/volley',
      { npm_command: 'exec', npm_lifecycle_event: 'npx' },
    ],
    ['npx volley', '/home/me/list/node_modules/.bin/volley', {}],
    ['npm run volley --', '/home/me/list/dist/src/surfaces/cli/main.js', { npm_lifecycle_event: 'volley' }],
    ['pnpm exec volley', '/x/.bin/volley', { npm_command: 'exec', npm_config_user_agent: 'pnpm/10.1.0' }],
    ['volley', '/usr/local/bin/volley', path],
    ['./volley', '/home/me/list/volley', path],
    ['node dist/src/surfaces/cli/main.js', '/home/me/list/dist/src/surfaces/cli/main.js', path],
    ["node '/opt/my volley/main.js'", '/opt/my volley/main.js', path],
    ['docker compose run --rm volley', '/app/main.js', { VOLLEY_COMMAND: 'docker compose run --rm volley' }],
    ['volley', '/home/me/list/some-program.js', {}],
  ])('%s', (name, called, env) => {
    expect(commandName({ program: called, env, cwd })).toBe(name);
  });

  test('in every line that suggests a command', () => {
    const main = fileURLToPath(new URL('../../../../dist/src/surfaces/cli/main.js', import.meta.url));
    const env = { PATH: process.env['PATH'] ?? '', VOLLEY_COMMAND: 'npx volley' };
    const stdout = execFileSync(process.execPath, [main, '--help'], { env, encoding: 'utf8' });
    expect(stdout).toMatch(/\$ npx volley up --simulator/);
    expect(stdout).toMatch(/Usage: npx volley/);
    expect(stdout).not.toMatch(/npx npx/);
  });

  test('in JSON', () => {
    const main = fileURLToPath(new URL('../../../../dist/src/surfaces/cli/main.js', import.meta.url));
    const folder = temporaryFolder().path;
    const env = { PATH: process.env['PATH'] ?? '', VOLLEY_COMMAND: 'npx volley' };
    const { stdout } = spawnSync(process.execPath, [main, 'doctor', '--json'], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    expect(stdout).toMatch(/npx volley init/);
    expect(stdout).not.toMatch(/(?<!npx )volley (?:preview|init|up)/);
  });
});

test('Volley knows the names of its commands', () => {
  expect([...COMMANDS].sort()).toEqual(program.commands.map((command) => command.name()).sort());
});

test.each(commands(program).map((command) => [nameOf(command), command] as const))(
  '%s accepts --json',
  (_, command) => {
    expect(command.options.map(({ long }) => long)).toContain('--json');
  },
);

test.each(commands(program).map((command) => [nameOf(command), command] as const))(
  'The examples of %s name files that exist',
  (_, command) => {
    let help = '';
    command.configureOutput({
      writeOut: (text) => {
        help += text;
      },
    });
    command.outputHelp();
    const [, lines = ''] = help.split(/Examples?:\n/);
    expect(lines).toMatch(/^ {2}\$ volley /);
    const files = lines.match(/[\w./-]+\.(?:csv|txt)\b/g) ?? [];
    for (const file of files.filter(
      (name) => !lines.includes(`--out ${name}`) && !lines.includes(`> ${name}`),
    ))
      expect(existsSync(file), file).toBe(true);
    expect(lines).not.toMatch(/\bID\b|1a2b3c/);
  },
);

test('A suggested command is completed once, also after a colour code', () => {
  expect(pasteable('Run volley resolve abc', 'npx volley')).toBe('Run npx volley resolve abc');
  const coloured = 'To settle it:\n\u001b[35mnpx volley resolve abc\u001b[39m';
  expect(pasteable(coloured, 'npx volley')).toBe(coloured);
});
