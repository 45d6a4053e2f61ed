import { CommanderError } from 'commander';
import { InputError, NotFoundError } from '../campaign/errors.js';
import { ConfigError } from '../config/index.js';
import { SimulatorOptionsError } from '../simulator/index.js';

/** How a command ends, for scripts. `waits`: nothing more happens until an operator acts. */
export const EXIT = { done: 0, failed: 1, badInput: 2, waits: 3, interrupted: 130 } as const;
/** See {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command says no: its message is all that people are told, `details` is what `--json` adds. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly exit: ExitCode;
  /** Stable, for programs. */
  readonly code: string;
  readonly details: object;

  constructor(exit: ExitCode, code: string, message: string, details: object = {}) {
    super(message);
    this.exit = exit;
    this.code = code;
    this.details = details;
  }
}

/** Something given on the command line that cannot be. */
export function badInput(message: string, details: object = {}): Refusal {
  return new Refusal(EXIT.badInput, 'badInput', message, details);
}

/** How a command ended that threw. */
export interface Ending {
  readonly exit: ExitCode;
  readonly code: string;
  /** Undefined where it has been said already. */
  readonly message: string | undefined;
  readonly details: object;
}

/** Whatever a command may throw, as an exit code and words. Only what nobody foresaw is a plain failure. */
export function endingOf(error: unknown): Ending {
  if (error instanceof Refusal) return error;
  if (error instanceof CommanderError) {
    // Help and version that were asked for end with 0; the parser has said everything else itself.
    const exit = error.exitCode === 0 ? EXIT.done : EXIT.badInput;
    return { exit, code: error.code, message: undefined, details: {} };
  }
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof NotFoundError) return { exit: EXIT.badInput, code: 'notFound', message, details: {} };
  if (error instanceof ConfigError) {
    return { exit: EXIT.badInput, code: 'config', message, details: { problems: error.problems } };
  }
  if (error instanceof InputError || error instanceof SimulatorOptionsError) {
    return { exit: EXIT.badInput, code: 'badInput', message, details: {} };
  }
  return { exit: EXIT.failed, code: 'failed', message, details: {} };
}
