import type { Mutant } from '../mutants/mutant.js';
import type { Scenario } from '../scenario/scenario.js';
import type { Script } from '../stage.js';

/** A world that someone has written down, mostly after a seed had failed. What happens in it does not depend on chance. */
interface Written {
  /** For the command line, such as `clock-corrected-twice`. */
  readonly name: string;
  /** The seeds that showed it first. Since then, their worlds have changed. */
  readonly seeds?: readonly number[];
  /** What happens, and what must hold. */
  readonly about: string;
  readonly scenario: Scenario;
  /** Without one, the scenario says everything. */
  readonly script?: Script;
}

export interface ScriptedWorld extends Written {
  /** The bug that it stands for. Planted, it must make this world fail. */
  readonly bug: Omit<Mutant, 'from'>;
}

/** A world that violates an invariant, because what it shows has no solution. */
export interface OpenWorld extends Written {
  /** The number of the invariant, see violation.ts. */
  readonly violates: number;
}
