import { expect, test } from 'vitest';
import { sourceFiles } from './sources.js';

/*
 * The English standard names the actor: "the worker", "the service", "no process". These words hide one.
 */

/** Words without an actor. Before a quotation mark, they are data of a test. */
const UNNAMED = /\b(?:whoever|nobody|(?:is|are|was|were|be|been) told|the way of)\b(?!['"`])/gi;

const files = [
  ...sourceFiles(['src', 'workers', 'examples'], ['.ts', '.tsx', '.js', '.lua']),
  ...sourceFiles(['docs', 'bench'], ['.md', '.yml', '.ts']),
  ...sourceFiles(['test'], ['.ts']),
].filter(
  ({ path }) =>
    path !== 'test/house/plain-english.test.ts' && !path.startsWith('src/surfaces/http/explorer/'),
);

test('Texts and comments name who acts', () => {
  expect(files.length).toBeGreaterThan(1_000);
  const found = files.flatMap(({ path, text }) =>
    [...text.matchAll(UNNAMED)].map(({ 0: words, index }) => {
      const line = text.slice(0, index).split('\n').length;
      return `${path}:${line}: ${words}`;
    }),
  );
  expect(found).toEqual([]);
});
