import { expect, inject, test } from 'vitest';
import { INVARIANTS } from '../violation.js';
import { MUTANTS } from './index.js';
import { runMutant } from './run-mutant.js';

const redisUrl = inject('redisUrl');

test.each(MUTANTS)('A planted bug is caught as a violation of its invariant: $name', async (mutant) => {
  const { violations } = await runMutant(redisUrl, mutant);
  expect(violations.map(({ invariant }) => INVARIANTS[invariant])).not.toEqual([]);
  expect(new Set(violations.map(({ invariant }) => invariant))).toEqual(new Set([mutant.invariant]));
});
