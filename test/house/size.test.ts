import { expect, test } from 'vitest';
import { sourceFiles } from './sources.js';

/** Beyond this, a file holds more than one idea. */
const MAX_LINES = 450;
/** Written by a test, from the rows of the operations. */
const GENERATED = ['src/surfaces/console/generated/api.d.ts'];

test(`No source file that is written by hand has more than ${MAX_LINES} lines`, () => {
  const files = sourceFiles(['src', 'workers'], ['.ts', '.tsx', '.css', '.lua']);
  const long = files.filter(({ text }) => text.split('\n').length - 1 > MAX_LINES).map(({ path }) => path);
  // A file that is shorter by now leaves the list.
  expect(long).toEqual(GENERATED);
});
