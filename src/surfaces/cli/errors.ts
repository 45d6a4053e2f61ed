import { CommanderError } from 'commander';
import { ConfigError } from '../../base/config/environment.js';
import { readProblem } from '../../base/config/file-problem.js';
import { EXIT, type ExitCode } from '../../base/exit-codes.js';
import {
  AmbiguousNameError,
  asSentence,
  GoneError,
  InputError,
  NotFoundError,
} from '../../campaign/errors.js';
import { pasteable } from './command-name.js';
import { withOptions } from './option-names.js';

/** Ends a command. People read its message; `--json` adds `details`. */
export class CliError extends Error {
  override readonly name = 'CliError';
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

/** An error in the command line, or in a file that it names. */
export function badInput(message: string, details: object = {}): CliError {
  return new CliError(EXIT.badInput, 'badInput', message, details);
}

/** Ends a command after Ctrl-C. `consequence` says what was not done, such as `nothing was sent`. */
export function interrupted(consequence: string): CliError {
  return new CliError(EXIT.interrupted, 'interrupted', `Interrupted; ${consequence}.`);
}

/** An error of commander, said as ours are. */
export function inOurWords(text: string): string {
  const sentence = text
    .trimEnd()
    .replace(/^error: /, '')
    .replace(/\n\((Did you mean .*)\)$/s, '. $1')
    .replace(
      /^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*?)' is invalid\. /s,
      "the value '$2' of $1 is not valid. ",
    )
    .replace(/^required option '(?:-\w, )?(--[^']+)' not specified/, 'the option $1 is missing')
    .replace(/^missing required argument '(.*?)'/, 'the argument <$1> is missing')
    .replace(
      /^command-argument value '(.*)' is invalid for argument '(.*?)'\. /s,
      "argument '<$2>' is invalid: '$1'. ",
    );
  return asSentence(sentence);
}

/** How a failed command ends. */
interface Failure extends Pick<CliError, 'exit' | 'code' | 'details'> {
  /** Undefined if it has been printed already. */
  readonly message: string | undefined;
}

/** The exit code and message for anything a command throws. Unexpected errors get exit code 1. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CliError) return error;
  if (error instanceof CommanderError) {
    // Commander throws for --help and --version too, with exit code 0. It has printed its message itself.
    const exit = error.exitCode === 0 ? EXIT.done : EXIT.badInput;
    return { exit, code: error.exitCode === 0 ? error.code : 'badInput', message: undefined, details: {} };
  }
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof NotFoundError) return new CliError(EXIT.badInput, 'notFound', message);
  if (error instanceof GoneError) return new CliError(EXIT.badInput, 'gone', message);
  if (error instanceof ConfigError) {
    return new CliError(EXIT.badInput, 'config', message, {
      problems: error.problems.map((problem) => pasteable(problem)),
    });
  }
  if (error instanceof AmbiguousNameError)
    return badInput(`${asSentence(message)} Add --lane <name>.`, {
      reason: 'ambiguousName',
      lanes: error.lanes,
    });
  if (error instanceof InputError) return badInput(withOptions(message));
  const problem = fileProblemOf(error);
  return problem === undefined ? new CliError(EXIT.failed, 'failed', message) : badInput(problem);
}

/** Says in a sentence what the system reports about a file; undefined if the error is about something else. */
function fileProblemOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error)) return undefined;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : 'A file of this command';
  const reason = readProblem(error, path);
  return reason === undefined ? undefined : `${reason}.`;
}
