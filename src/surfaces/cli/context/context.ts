import type { Clock } from '../../../base/clock.js';
import { EXIT, type ExitCode } from '../../../base/exit-codes.js';
import { asSentence } from '../../../campaign/errors/errors.js';
import { jsonText, printable } from '../../../campaign/text/visible-text.js';
import { pasteable } from '../output/command-name.js';
import { columnsOf, overEcho, type Paint, paintFor } from '../output/terminal.js';
import { wrappedLines } from '../output/text.js';
import { failureOf, inOurWords } from './errors.js';

/** What a command uses of its process; tests pass their own. */
export interface CliIo {
  /** The real environment, without `.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly clock: Clock;
}

/** The result of a command: for programs, and for people. */
export interface Answer {
  /** The one object on standard output under `--json`. */
  readonly json: object;
  /** On standard output otherwise. */
  readonly lines: readonly string[];
  /** Default: done. */
  readonly exit?: ExitCode;
}

/** One run of the command line. Standard output is for the answer; notes and questions go to standard error. */
export interface Context extends CliIo {
  readonly json: boolean;
  /** For standard output. */
  readonly paint: Paint;
  /** For standard error. */
  readonly paintErr: Paint;
  /** Whether the command can ask questions. `--json` changes nothing: questions go to standard error. */
  readonly interactive: boolean;
  /** Prints a line on standard error; on a terminal, several if it is too long. */
  note(line: string): void;
  print(answer: Answer | undefined): void;
  fail(error: unknown): void;
  /** The exit code so far. */
  exit(): ExitCode;
}

/** The context of one run; `json`: whether its answer is for programs. */
export function createContext(io: CliIo, json: boolean): Context {
  const { env, stdin, stdout, stderr } = io;
  const paintErr = paintFor(stderr, env);
  let exit: ExitCode = EXIT.done;
  const note = (line: string): void =>
    void stderr.write(`${wrappedLines(pasteable(line), columnsOf(stderr))}\n`);
  return {
    ...io,
    json,
    paint: paintFor(stdout, env),
    paintErr,
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    note,
    print(answer) {
      if (answer === undefined) return;
      exit = answer.exit ?? EXIT.done;
      if (json) stdout.write(`${jsonText(answer.json)}\n`);
      else
        for (const line of answer.lines)
          stdout.write(`${wrappedLines(pasteable(line), columnsOf(stdout))}\n`);
    },
    fail(error) {
      const failure = failureOf(error);
      if (failure === null) return;
      exit = failure.exit;
      // A reply of no is not an error.
      const isPlain = failure.code === 'declined';
      const prefix =
        failure.exit === EXIT.interrupted
          ? overEcho(stderr)
          : isPlain
            ? ''
            : `${paintErr('red', 'volley:')} `;
      const said = failure.message === undefined ? undefined : asSentence(failure.message);
      if (said !== undefined) note(`${prefix}${printable(said)}`);
      const thrown = error instanceof Error ? error.message : String(error);
      const message = pasteable(said ?? inOurWords(thrown));
      if (json)
        stdout.write(
          `${jsonText({ error: { code: failure.code, message, errors: [], ...failure.details } })}\n`,
        );
    },
    exit: () => exit,
  };
}
