import type { Mutant } from '../mutants.js';
import type { Scenario } from '../scenario.js';
import type { Script } from '../stage.js';

/** A world that someone has written down, mostly after a seed had failed. What happens in it does not depend on chance. */
export interface ScriptedWorld {
  /** For the command line, such as `clock-corrected-twice`. */
  readonly name: string;
  /** What happens, and what must hold. */
  readonly about: string;
  readonly scenario: Scenario;
  /** Without one, the scenario says everything. */
  readonly script?: Script;
  /** The bug that it stands for. Planted, it must make this world fail. */
  readonly bug: Omit<Mutant, 'from'>;
}
