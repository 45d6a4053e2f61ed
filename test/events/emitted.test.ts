import { expect, test } from 'vitest';
import { CATALOGUE } from '../../src/events/catalogue.js';
import { sourceFiles } from '../house/sources.js';

/** Events that nothing emits yet. Remove an event from this list when the code emits it. */
const NOT_YET_EMITTED = [
  'recipient.rejected',
  'request.missing',
  'request.notSent',
  'request.stopped',
  'request.unanswered',
  'request.unauthorised',
  'request.unfollowable',
  'retention.removed',
];

/** Event types that a file passes to `emit`, or to `emitTokenEvent`, which receives the type as an argument. */
const EMITTED = /(?:\btype: |\bemitTokenEvent\([^)]*)'(\w+\.\w+)'/g;

test('Every event in the catalogue is emitted somewhere', () => {
  const emitted = new Set(
    sourceFiles(['src', 'workers'], ['.ts'])
      .filter(({ path }) => !path.startsWith('src/simulator/'))
      .flatMap(({ text }) => [...text.matchAll(EMITTED)].map(([, type]) => type)),
  );
  const missing = Object.keys(CATALOGUE).filter((type) => !emitted.has(type));
  expect(missing.sort()).toEqual(NOT_YET_EMITTED);
});
