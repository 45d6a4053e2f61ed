import type { Parts } from '../process/parts.js';
import type { LuaChange } from '../server/scripts.js';

/** A bug planted on purpose. The simulation must catch it as a violation of this invariant. */
export interface Mutant {
  readonly name: string;
  /** The number of the invariant, see violation.ts. */
  readonly invariant: number;
  /** The wrong behaviour that the bug causes. */
  readonly why: string;
  /** The first seed to run, chosen so that the bug shows early; default: 0. */
  readonly from?: number;
  /** Changes to the Lua scripts. A text that is no longer in its script is an error. */
  readonly lua?: readonly LuaChange[];
  /** Replaced parts of the TypeScript code. */
  readonly parts?: Partial<Parts>;
}
