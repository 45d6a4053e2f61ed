import type { Mutant } from './mutants.js';
import { runWorlds } from './run-worlds.js';

/** The result of running a mutant. */
export interface MutantRun {
  /** The number of seeds that were run to the end. */
  readonly seeds: number;
  readonly violations: readonly {
    readonly seed: number;
    readonly invariant: number;
    readonly message: string;
  }[];
}

/** Fewer worlds than usual, because those in progress at the first violation still run to their end. */
const CONCURRENT_WORLDS = 12;
const MAX_SEEDS = 150;

/** Runs worlds with a planted bug until one of them violates an invariant, or 150 seeds have passed. */
export async function runMutant(redisUrl: string, mutant: Mutant): Promise<MutantRun> {
  const { from = 0, lua, parts } = mutant;
  const violations: { seed: number; invariant: number; message: string }[] = [];
  let seeds = 0;
  await runWorlds({
    redisUrl,
    seeds: Array.from({ length: MAX_SEEDS }, (_, at) => from + at),
    concurrency: CONCURRENT_WORLDS,
    ...(lua === undefined ? {} : { changes: lua }),
    ...(parts === undefined ? {} : { parts }),
    onOutcome({ seed, violation }) {
      seeds += 1;
      if (violation !== undefined)
        violations.push({ seed, invariant: violation.invariant, message: violation.message });
      return violations.length > 0;
    },
  });
  return { seeds, violations };
}
