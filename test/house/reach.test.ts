import { expect, test } from 'vitest';
import { importsOf, sourceFiles } from './sources.js';

/*
 * How much a reader may have to open to understand one file: everything that it imports, and what that imports, types and Lua
 * scripts included. A type that exposes a whole subsystem to a file that uses three of its functions shows here.
 */

const files = new Map(sourceFiles(['src'], ['.ts', '.lua']).map((file) => [file.path, file]));

/** The files that a file reaches, itself included, and their lines. */
function reachOf(path: string): { readonly files: number; readonly lines: number } {
  const reached = new Set<string>();
  const queue = [path];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const file = files.get(next);
    if (file === undefined || reached.has(next)) continue;
    reached.add(next);
    queue.push(...importsOf(file));
  }
  const lines = [...reached].map((one) => (files.get(one)?.text.split('\n').length ?? 1) - 1);
  return { files: reached.size, lines: lines.reduce((sum, count) => sum + count, 0) };
}

/** The files where the work of a stage begins, and the most that each may reach. */
const MOST = {
  'src/engine/sending/send.ts': { files: 40, lines: 3_500 },
} as const;

test.each(Object.entries(MOST))('%s reaches only what it uses', (path, most) => {
  const reach = reachOf(path);
  expect(reach.files).toBeGreaterThan(10);
  expect(reach.files).toBeLessThanOrEqual(most.files);
  expect(reach.lines).toBeLessThanOrEqual(most.lines);
});

/** Opens the inboxes of all lanes, so it passes whole lanes on. */
const OPENERS = ['src/engine/notifications/notification-service.ts'];

test('Each stage names the functions that it uses of a lane, and not the type that has all of them', () => {
  const stages = [...files.values()].filter(({ path }) =>
    /^src\/engine\/(sending|follow-up|notifications|recovery)\//.test(path),
  );
  const naming = stages.filter((file) => importsOf(file).includes('src/engine/lane/lane.ts'));
  expect(naming.map(({ path }) => path)).toEqual(OPENERS);
});
