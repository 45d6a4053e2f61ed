import type { Mutant } from './mutants.js';
import { runWorlds } from './run-worlds.js';

/** What came of a runMutant. */
export interface MutantRun {
  /** Seeds that ended. */
  readonly tried: number;
  /** The seeds in which something was violated, and what. */
  readonly seen: readonly { readonly seed: number; readonly invariant: number; readonly message: string }[];
}

/** Fewer than usual: those under way when the first falls are run to their end. */
const AT_A_TIME = 12;
const MOST_SEEDS = 150;

/** Runs worlds with a planted bug, until it is seen or so many seeds have ended. */
export async function runMutant(redisUrl: string, mutant: Mutant): Promise<MutantRun> {
  const { from = 0, lua, parts } = mutant;
  const seen: { seed: number; invariant: number; message: string }[] = [];
  let tried = 0;
  await runWorlds({
    redisUrl,
    seeds: Array.from({ length: MOST_SEEDS }, (_, at) => from + at),
    atATime: AT_A_TIME,
    ...(lua === undefined ? {} : { changes: lua }),
    ...(parts === undefined ? {} : { parts }),
    onOutcome({ seed, violation }) {
      tried += 1;
      if (violation !== undefined)
        seen.push({ seed, invariant: violation.invariant, message: violation.message });
      return seen.length > 0;
    },
  });
  return { tried, seen };
}
