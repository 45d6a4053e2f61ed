import { expect, test } from 'vitest';
import { sourceFiles } from './sources.js';

/** Beyond this, a file holds more than one idea. */
const MAX_LINES = 450;

test(`No source file that is written by hand has more than ${MAX_LINES} lines`, () => {
  const files = sourceFiles(['src', 'workers'], ['.ts', '.tsx', '.css', '.lua']);
  const long = files.filter(({ text }) => text.split('\n').length - 1 > MAX_LINES).map(({ path }) => path);
  expect(long).toEqual([]);
});

/** Beyond this, a folder holds more than one idea. */
const MAX_FILES = 25;

test(`No folder of the source has more than ${MAX_FILES} files`, () => {
  const counts = new Map<string, number>();
  for (const { path } of sourceFiles(['src', 'workers'], ['.ts', '.tsx', '.css', '.lua'])) {
    const folder = path.replace(/\/[^/]*$/, '');
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
});
