import { expect, test } from 'vitest';
import { readLua } from '../../src/base/redis/script.js';
import { codeOf } from './lua-code.js';
import { sourceFiles } from './sources.js';

/**
 * Lines written by hand in each room, at most. A change that makes a room smaller lowers its number, so that none grows back unnoticed; a
 * change that raises one says why.
 */
const MOST_LINES: Readonly<Record<string, number>> = {
  campaign: 8795,
  base: 6800,
  service: 4300,
  engine: 19_805,
  intake: 14_080,
  'call-records': 2495,
  reporting: 7165,
  tools: 6680,
  app: 6950,
  operations: 5582,
  surfaces: 21_325,
};

/** By how much a room may be smaller than its number. */
const SLACK = 200;

test('No room of the source has more lines than its budget, and none has a budget that it does not need', () => {
  const lines: Record<string, number> = {};
  for (const { path, text } of sourceFiles(['src'], ['.ts', '.tsx', '.css', '.lua'])) {
    const [, room = '', ...rest] = path.split('/');
    if (rest.length === 0 || rest.includes('generated')) continue;
    lines[room] = (lines[room] ?? 0) + text.split('\n').length - 1;
  }
  expect(Object.keys(lines).sort()).toEqual(Object.keys(MOST_LINES).sort());
  const over = Object.entries(lines).filter(([room, count]) => count > (MOST_LINES[room] ?? 0));
  expect(over).toEqual([]);
  const loose = Object.entries(lines).filter(([room, count]) => count < (MOST_LINES[room] ?? 0) - SLACK);
  expect(loose).toEqual([]);
});

/** Lines of the console by hand: the consoles of other tools have outgrown their engines. */
const MAX_CONSOLE = 6500;

test(`The console has at most ${MAX_CONSOLE} lines`, () => {
  const own = sourceFiles(['src/surfaces/console'], ['.ts', '.tsx', '.css']).filter(
    ({ path }) => !path.includes('/generated/'),
  );
  const lines = own.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0);
  expect(lines).toBeGreaterThan(MAX_CONSOLE - SLACK);
  expect(lines).toBeLessThanOrEqual(MAX_CONSOLE);
});

/** Everything written by hand: the source, and the tests and benches, which follow the same rules. */
const files = [
  ...sourceFiles(['src', 'workers'], ['.ts', '.tsx', '.css', '.lua']),
  ...sourceFiles(['test', 'bench'], ['.ts', '.tsx', '.js', '.mjs']),
];

/** Beyond this, a file holds more than one idea. */
const MAX_LINES = 450;

test(`No file that is written by hand has more than ${MAX_LINES} lines`, () => {
  const long = files.filter(({ text }) => text.split('\n').length - 1 > MAX_LINES).map(({ path }) => path);
  expect(long).toEqual([]);
});

/** Beyond this, a folder holds more than one idea. */
const MAX_FILES = 25;

test(`No folder of the source, the tests, or the benches has more than ${MAX_FILES} files`, () => {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = path.replace(/\/[^/]*$/, '');
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
});

/** Redis defines all functions of a script each time that it runs it, used or not. */
const MAX_LUA_OF_A_PUT = 900;

test(`Putting a message runs at most ${MAX_LUA_OF_A_PUT} lines of Lua`, () => {
  const path = '../../src/intake/outbox/messages/put-messages.lua';
  const code = codeOf(readLua(new URL(path, import.meta.url))).split('\n');
  expect(code.filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(MAX_LUA_OF_A_PUT);
});
