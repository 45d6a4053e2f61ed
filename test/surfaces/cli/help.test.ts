import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createContext } from '../../../src/surfaces/cli/context/context.js';
import { moment } from '../../../src/surfaces/cli/flags/option-values.js';
import { wrappedLines } from '../../../src/surfaces/cli/output/text.js';
import { createProgram, run } from '../../../src/surfaces/cli/program.js';

const NOW = Date.UTC(2026, 10, 22);

function io(columns: number | undefined, env: Readonly<Record<string, string>>) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  if (columns !== undefined) Object.assign(stdout, { isTTY: true, columns });
  return {
    env,
    cwd: '/',
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    clock: () => NOW,
    printed: () => String(stdout.read() ?? ''),
  };
}

async function help(path: readonly string[], columns?: number, env: Readonly<Record<string, string>> = {}) {
  const streams = io(columns, env);
  await run([...path, '--help'], streams);
  return streams.printed();
}

/** The names of every command and subcommand. */
function paths(command: Command): string[][] {
  const below = command.commands.flatMap((each) => paths(each).map((path) => [each.name(), ...path]));
  return [[], ...below];
}

/** The arguments of a command as a shell reads them; null if a quote is not closed. */
function shellWords(text: string): string[] | null {
  const words: string[] = [];
  let word: string | undefined;
  for (const [token] of text.matchAll(/\\\n|\\.|"[^"]*"|'[^']*'|\s|./gs)) {
    if (token === '"' || token === "'") return null;
    if (token === '\\\n') continue;
    if (/^\s$/.test(token)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      // An unescaped line break ends the command.
      if (token === '\n') return words;
    } else word = (word ?? '') + (token.length > 1 ? token.replace(/^\\|^["']|["']$/g, '') : token);
  }
  return word === undefined ? words : [...words, word];
}

const examplesIn = (text: string) =>
  text
    .split(/^ *\$ /m)
    .slice(1)
    .map(shellWords);

const all = paths(createProgram(createContext(io(undefined, {}), false)));

test.each([
  [60, {}],
  [80, { NO_COLOR: '1' }],
  [120, {}],
] as const)(
  'Every example of the help can be pasted from a terminal with %i columns',
  async (columns, env) => {
    expect(all.length).toBeGreaterThan(40);
    for (const path of all) {
      const [narrow, wide] = [await help(path, columns, env), await help(path)];
      expect([path, examplesIn(narrow)]).toEqual([path, examplesIn(wide)]);
      expect(narrow.split('\n').filter((line) => line.trim() === '$')).toEqual([]);
    }
  },
);

test('A quoted argument is kept whole, and every break of a command ends with a backslash', () => {
  const command = 'volley send a.csv --message "Hi {{name}}, 20% off. Use {{voucher}} or not" --yes';
  for (const text of [`  $ ${command}`, `Run: ${command}`, `Run: \u001b[1m${command}\u001b[22m`]) {
    for (const width of [20, 40, 60, 70]) {
      const shown = stripVTControlCharacters(wrappedLines(text, width)).replace(/^\s*(?:\$|Run:)\s*/, '');
      expect([text, width, shellWords(shown)]).toEqual([text, width, shellWords(command)]);
    }
  }
});

test('The time in the help of send is one that send accepts, whatever the date', async () => {
  const stdout = await help(['send']);
  const times = [...stdout.matchAll(/\b\d{4}-\d{2}-\d{2}T[\d:]+(?:Z|[+-]\d{2}:\d{2})/g)].map(
    ([time]) => time,
  );
  expect(times).toHaveLength(2);
  for (const time of times) {
    const ahead = moment(time, () => NOW) - NOW;
    expect(ahead).toBeGreaterThan(0);
    // The least MAX_SCHEDULE_AHEAD that people set is a few days.
    expect(ahead).toBeLessThan(2 * 86_400_000);
  }
});
