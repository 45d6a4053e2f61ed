import { expect, inject, test } from 'vitest';
import { runMutant } from '../run-mutant.js';
import { INVARIANTS } from '../violation.js';
import { SCRIPTED_WORLDS, scriptedWorld } from './index.js';

const redisUrl = inject('redisUrl');

test.each(SCRIPTED_WORLDS)('$name catches its planted bug: $bug.name', async (world) => {
  const { violations } = await runMutant(redisUrl, world.bug, [scriptedWorld(world)]);
  expect(violations.map(({ invariant }) => INVARIANTS[invariant])).toEqual([INVARIANTS[world.bug.invariant]]);
});
