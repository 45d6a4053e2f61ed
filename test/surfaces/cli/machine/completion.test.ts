import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../scene/closing.js';
import { scene } from '../../../scene/scene.js';

const { shell, write, folder: cwd, settings } = scene('cli-completion');
write('spring.csv', 'name,phone\nAnna,+447700900101\n');
const { volley, json } = shell();

/** The candidates for the last word, without their descriptions. */
const candidates = async (...words: readonly string[]): Promise<string[]> => {
  const { stdout } = await volley('__complete', '--', ...words);
  return stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
};

describe('Completion', () => {
  test.each([
    [['sta'], ['status']],
    [
      ['lane', ''],
      ['hold', 'resume', 'rename', 'add', 'set', 'show', 'remove'],
    ],
    [['lane', 'hold', ''], ['default']],
    [['send', 'x.csv', '--pri'], ['--priority']],
    [
      ['send', 'x.csv', '--priority', ''],
      ['high', 'normal'],
    ],
    [['send', 'x.csv', '--priority', 'high', '--lane', ''], ['default']],
    [['list', '--state', 'com'], ['completed']],
    [
      ['report', 'last', '--status', 'delivered'],
      ['delivered', 'deliveredToTerminal', 'deliveredToNetwork'],
    ],
    [['preview', ''], [':files']],
    [['report', 'last', '--out', 'x'], [':files']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['nonsense', ''], []],
  ])('of %j is %j', async (words, expected) => {
    expect((await candidates(...words)).sort()).toEqual([...expected].sort());
  });

  test('knows the ids of campaigns', async () => {
    const { output } = await json('send', join(cwd, 'spring.csv'), '-s', 'ACME', '-m', 'Hi', '--yes');
    const { id } = output as { id: string };
    expect(await candidates('status', '')).toEqual(['last', id]);
    expect(await candidates('report', id.slice(0, 9))).toEqual([id]);
  });

  test('prints nothing without Redis, and no error', async () => {
    const other = shell({ REDIS_URL: 'redis://127.0.0.1:1' });
    const { stdout, stderr } = await other.volley('__complete', '--', 'status', '');
    expect([stdout, stderr]).toEqual(['last\tthe newest campaign\n', '']);
  });
});

const has = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

/** The function that the script registers for the command of a line. */
const functionOf = (line: string): string => (line.startsWith('npx ') ? '_volley_npx' : '_volley');

/** What a shell completes at the end of this line, with the script of `volley completion`. */
const IN_SHELL = {
  bash: (line: string) =>
    `source "$SCRIPT"; COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); ${functionOf(line)}; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (line: string) =>
    // The completion system needs a terminal; without one, its two functions print what they get.
    `compdef() { :; }; _files() { print -l spring.csv; }; _describe() { print -l -- "\${found[@]%%:*}"; }; source "$SCRIPT"; words=(${line}); CURRENT=\${#words}; ${functionOf(line)}`,
  fish: (line: string) => `source "$SCRIPT"; complete -C '${line}' | string split -f1 \\t; true`,
} as const;

describe.each(Object.entries(IN_SHELL))('The script for %s', (program, ending) => {
  const { path: bin, write: writeProgram } = temporaryFolder();
  const main = fileURLToPath(new URL('../../../../dist/src/surfaces/cli/main.js', import.meta.url));
  chmodSync(writeProgram('volley', `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`), 0o755);
  // Finds a package of this project; `--no` keeps it from installing one.
  const npx = '#!/bin/sh\n[ "$1 $2" = "--no volley" ] || exit 1\nshift 2\nexec volley "$@"\n';
  chmodSync(writeProgram('npx', npx), 0o755);
  const completed = (line: string, script: string): string[] => {
    const PATH = `${bin}${delimiter}${process.env['PATH']}`;
    const env = { ...settings, HOME: cwd, PATH, SCRIPT: script };
    const completion = execFileSync(program, ['-c', ending(line)], { cwd, env, encoding: 'utf8' });
    return completion.trim().split('\n');
  };

  test.skipIf(!has(program))(
    'completes commands, options, values, and files',
    () => {
      const script = writeProgram('script', execFileSync(process.execPath, [main, 'completion', program]));
      expect(completed('volley send x.csv --prio', script)).toEqual(['--priority']);
      expect(completed('volley preview spr', script)).toEqual(['spring.csv']);
      expect(completed('npx volley list --state com', script)).toEqual(['completed']);
    },
    120_000,
  );
});
