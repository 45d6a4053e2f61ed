import { runWorlds } from './fleet.js';
import type { Mutant } from './mutants.js';

/** What came of a hunt. */
export interface Hunt {
  /** Seeds that ended. */
  readonly tried: number;
  /** The seeds in which something was violated, and what. */
  readonly seen: readonly { readonly seed: number; readonly invariant: number; readonly message: string }[];
}

/** Fewer than usual: those under way when the first falls are run to their end. */
const AT_A_TIME = 24;

/** Runs worlds with a planted bug, until the bug is seen or these seeds have ended. */
export async function hunt(
  redisUrl: string,
  mutant: Mutant,
  seeds: Iterable<number>,
  isThorough = false,
): Promise<Hunt> {
  const seen: { seed: number; invariant: number; message: string }[] = [];
  let tried = 0;
  await runWorlds({
    redisUrl,
    seeds,
    atATime: AT_A_TIME,
    ...(mutant.lua === undefined ? {} : { changes: mutant.lua }),
    ...(mutant.made === undefined ? {} : { made: mutant.made }),
    onOutcome({ seed, violation }) {
      tried += 1;
      if (violation !== undefined)
        seen.push({ seed, invariant: violation.invariant, message: violation.message });
      return !isThorough && seen.length > 0;
    },
  });
  return { tried, seen };
}
