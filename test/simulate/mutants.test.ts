import { describe, expect, inject, it } from 'vitest';
import { MUTANTS } from './mutants.js';
import { runMutant } from './run-mutant.js';
import { replay } from './run-worlds.js';
import { INVARIANTS } from './violation.js';

const redisUrl = inject('redisUrl');

describe('each planted bug is seen', () => {
  it.each(MUTANTS)('$name', async (mutant) => {
    const { seen } = await runMutant(redisUrl, mutant);
    expect(seen.map(({ invariant }) => INVARIANTS[invariant])).not.toEqual([]);
    expect(new Set(seen.map(({ invariant }) => invariant))).toEqual(new Set([mutant.invariant]));
  });

  it('of every invariant there is one', () => {
    const numbers = INVARIANTS.map((_, number) => number).filter((number) => number > 0);
    expect([...new Set(MUTANTS.map(({ invariant }) => invariant))].sort((a, b) => a - b)).toEqual(numbers);
  });

  it('one whose text the scripts no longer hold is an error', async () => {
    const lua = [{ file: 'lane/gate.lua', from: 'what is not there', to: '' }];
    await expect(runMutant(redisUrl, { name: 'stale', invariant: 1, why: '', lua })).rejects.toThrow(
      'src/lane/gate.lua does not hold the text that the mutant replaces: what is not there',
    );
  });
});

describe('a seed', () => {
  it.each([3, 21, 1873])('%i is the same a second time, to the last line of its trace', async (seed) => {
    const [one, other] = [await replay(redisUrl, seed), await replay(redisUrl, seed)];
    expect(one.trace.lines.length).toBeGreaterThan(20);
    expect(other.trace.digest).toBe(one.trace.digest);
  });
});
