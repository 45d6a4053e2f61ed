import { expect, test } from 'vitest';
import { CATALOGUE } from '../../../src/base/events/catalogue.js';
import { sourceFiles } from '../../house/sources.js';

/** Event types that a file passes to `emit`, or to `emitTokenEvent`, which receives the type as an argument. */
const EMITTED = /(?:\btype: |\bemitTokenEvent\([^)]*)'(\w+\.\w+)'/g;

test('Every event in the catalogue is emitted somewhere', () => {
  const emitted = new Set(
    sourceFiles(['src', 'workers'], ['.ts'])
      .filter(({ path }) => !path.startsWith('src/tools/simulator/'))
      .flatMap(({ text }) => [...text.matchAll(EMITTED)].map(([, type]) => type)),
  );
  expect(Object.keys(CATALOGUE).filter((type) => !emitted.has(type))).toEqual([]);
});
