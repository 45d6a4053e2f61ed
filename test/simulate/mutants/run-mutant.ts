import { runWorlds } from '../runner/run-worlds.js';
import { seededWorlds } from '../scenario/seeded-world.js';
import type { WorldPlan } from '../world.js';
import type { Mutant } from './mutant.js';

/** The result of running a mutant. */
export interface MutantRun {
  /** The number of worlds that were run to the end. */
  readonly worlds: number;
  readonly violations: readonly {
    readonly name: string;
    readonly invariant: number;
    readonly message: string;
  }[];
}

/** Fewer worlds than usual, because those in progress at the first violation still run to their end. */
const CONCURRENT_WORLDS = 12;
const MAX_SEEDS = 150;

/** Runs worlds with a planted bug until one of them violates an invariant; by default those of 150 seeds. */
export async function runMutant(
  redisUrl: string,
  mutant: Mutant,
  plans: Iterable<WorldPlan> = seededWorlds(mutant.from ?? 0, MAX_SEEDS),
): Promise<MutantRun> {
  const { lua, parts } = mutant;
  const violations: { name: string; invariant: number; message: string }[] = [];
  let worlds = 0;
  await runWorlds({
    redisUrl,
    plans,
    concurrency: CONCURRENT_WORLDS,
    ...(lua === undefined ? {} : { changes: lua }),
    ...(parts === undefined ? {} : { parts }),
    onOutcome({ name, violation }) {
      worlds += 1;
      if (violation !== undefined)
        violations.push({ name, invariant: violation.invariant, message: violation.message });
      return violations.length > 0;
    },
  });
  return { worlds, violations };
}
