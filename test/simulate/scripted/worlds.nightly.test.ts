import { describe, expect, inject, it } from 'vitest';
import { runMutant } from '../mutants/run-mutant.js';
import { replay } from '../runner/run-worlds.js';
import { INVARIANTS } from '../violation.js';
import { OPEN_WORLDS, SCRIPTED_WORLDS, scriptedWorld } from './index.js';

const redisUrl = inject('redisUrl');

describe.each(SCRIPTED_WORLDS)('$name: $about', (world) => {
  it('nothing is violated', async () => {
    expect((await replay(redisUrl, scriptedWorld(world))).violation).toBeUndefined();
  });

  it('the trace is the same each time', async () => {
    const { trace } = await replay(redisUrl, scriptedWorld(world));
    expect((await replay(redisUrl, scriptedWorld(world))).trace.digest).toBe(trace.digest);
  });

  it(`catches its planted bug: ${world.bug.name}`, async () => {
    const { violations } = await runMutant(redisUrl, world.bug, [scriptedWorld(world)]);
    const violated = violations.map(({ invariant }) => INVARIANTS[invariant]);
    expect(violated).toEqual([INVARIANTS[world.bug.invariant]]);
  });
});

it.each(OPEN_WORLDS)('$name is a limit: $about', async (world) => {
  const { violation, trace } = await replay(redisUrl, scriptedWorld(world));
  expect(violation?.invariant).toBe(world.violates);
  expect((await replay(redisUrl, scriptedWorld(world))).trace.digest).toBe(trace.digest);
});
