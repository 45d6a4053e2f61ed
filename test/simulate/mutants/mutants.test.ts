import { describe, expect, inject, it } from 'vitest';
import { readLua } from '../../../src/base/redis/script.js';
import { replay } from '../runner/run-worlds.js';
import { seededWorld } from '../scenario/seeded-world.js';
import { SCRIPTED_WORLDS } from '../scripted/index.js';
import { INVARIANTS } from '../violation.js';
import { MUTANTS } from './index.js';
import { runMutant } from './run-mutant.js';

const redisUrl = inject('redisUrl');

describe('The planted bugs of the simulation', () => {
  it('every invariant has a planted bug', () => {
    const numbers = INVARIANTS.map((_, number) => number);
    const caught = [...MUTANTS, ...SCRIPTED_WORLDS.map(({ bug }) => bug)].map(({ invariant }) => invariant);
    expect([...new Set(caught)].sort((a, b) => a - b)).toEqual(numbers);
  });

  it('each text that a planted bug replaces is in its script', () => {
    const stale = [...MUTANTS, ...SCRIPTED_WORLDS.map(({ bug }) => bug)].flatMap(({ name, lua = [] }) =>
      lua
        .filter(({ file, from }) => !readLua(new URL(`../../../src/${file}`, import.meta.url)).includes(from))
        .map(({ file }) => `${name}: ${file}`),
    );
    expect(stale).toEqual([]);
  });

  it('a planted bug whose text is no longer in its script is an error', async () => {
    const lua = [{ file: 'engine/quota/gate.lua', from: 'no such text', to: '' }];
    await expect(runMutant(redisUrl, { name: 'stale', invariant: 1, why: '', lua })).rejects.toThrow(
      'src/engine/quota/gate.lua does not contain the text that the mutant replaces: no such text',
    );
  });
});

describe('the world of a seed is always the same', () => {
  it.each([3, 21, 1873])('seed %i gives the same trace twice', async (seed) => {
    const [one, other] = [
      await replay(redisUrl, seededWorld(seed)),
      await replay(redisUrl, seededWorld(seed)),
    ];
    expect(one.trace.lines.length).toBeGreaterThan(20);
    expect(other.trace.digest).toBe(one.trace.digest);
  });
});
