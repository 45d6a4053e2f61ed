import { CommanderError } from 'commander';
import { ConfigError } from '../../../base/config/environment.js';
import { readProblem } from '../../../base/config/file-problem.js';
import { EXIT, type ExitCode } from '../../../base/exit-codes.js';
import { ERROR_CODES, type FailureCode, isFailureCode } from '../../../campaign/errors/error-codes.js';
import { AmbiguousNameError, asSentence, InputError, VolleyError } from '../../../campaign/errors/errors.js';
import { pasteable } from '../output/command-name.js';
import { withOptions } from '../output/option-names.js';

/** Ends a command. People read its message; `--json` adds `details`. */
export class CliError extends VolleyError {
  override readonly name = 'CliError';
  readonly code: FailureCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: FailureCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** An error in the command line, or in a file that it names. */
export function badInput(message: string, details: Readonly<Record<string, unknown>> = {}): CliError {
  return new CliError('badInput', message, details);
}

/** Ends a command after Ctrl-C. `consequence` says what was not done, such as `nothing was sent`. */
export function interrupted(consequence: string): CliError {
  return new CliError('interrupted', `Interrupted; ${consequence}.`);
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
    .replace(
      /^option '(?:-\w, )?(--[\w-]+)[^']*' cannot be used with option '(?:-\w, )?(--[\w-]+)[^']*'/,
      '$1 and $2 do not go together. Leave out one of them',
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
interface Failure extends Pick<CliError, 'code' | 'details'> {
  readonly exit: ExitCode;
  /** Undefined if it has been printed already. */
  readonly message: string | undefined;
}

/** The exit code and message for anything a command throws; null for what is no failure. Unexpected errors get exit code 1. */
export function failureOf(error: unknown): Failure | null {
  // Commander throws for --help and --version too, with exit code 0. It has printed its message itself.
  if (error instanceof CommanderError)
    return error.exitCode === 0
      ? null
      : { exit: EXIT.badInput, code: 'badInput', message: undefined, details: {} };
  const { code, message, details } = saidByUs(error);
  return { exit: EXIT[ERROR_CODES[code][1]], code, message, details };
}

/** What a command throws, with what people can do about it on the command line. */
function saidByUs(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ConfigError) {
    const errors = error.problems.map((problem) => ({ ...NOWHERE, message: pasteable(problem) }));
    return new CliError('config', message, { errors });
  }
  if (error instanceof AmbiguousNameError)
    return new CliError('ambiguous', `${asSentence(message)} Add --lane <name>.`, {
      errors: error.errors,
      lanes: error.lanes,
    });
  if (error instanceof VolleyError && isFailureCode(error.code)) {
    const errors = error instanceof InputError ? error.errors : [];
    return new CliError(error.code, error instanceof InputError ? withOptions(message) : message, { errors });
  }
  const problem = fileProblemOf(error);
  return problem === undefined ? new CliError('failed', message) : badInput(problem);
}

/** Of a setting, which is no part of the command line. */
const NOWHERE = { code: 'config', pointer: null, line: null, column: null } as const;

/** Says in a sentence what the system reports about a file; undefined if the error is about something else. */
function fileProblemOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error)) return undefined;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : 'A file of this command';
  const reason = readProblem(error, path);
  return reason === undefined ? undefined : `${reason}.`;
}
