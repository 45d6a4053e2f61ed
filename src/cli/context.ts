import { createInterface } from 'node:readline/promises';
import type { Surroundings } from './cli-io.js';
import { EXIT, type ExitCode, endingOf } from './exit.js';
import { type Paint, paintFor } from './paint.js';

/** What a command has to say: to programs, and to people. */
export interface Answer {
  /** The one object on standard output under `--json`. */
  readonly json: object;
  /** On standard output otherwise. */
  readonly lines: readonly string[];
  /** Default: done. */
  readonly exit?: ExitCode;
}

/** One run of the command line. Standard output is for the answer; whatever is said on the way goes to standard error. */
export interface Context extends Surroundings {
  readonly json: boolean;
  /** For standard output. */
  readonly paint: Paint;
  /** For standard error. */
  readonly paintErr: Paint;
  /** Whether somebody can be asked. */
  readonly interactive: boolean;
  /** A line on standard error. */
  say(line: string): void;
  /** A yes-or-no question; anything but a clear yes is a no. */
  ask(question: string): Promise<boolean>;
  deliver(answer: Answer | undefined): void;
  fail(error: unknown): void;
  /** How it ends, as far as it has come. */
  exit(): ExitCode;
}

/** The context of one run; `json`: whether its answer is for programs. */
export function createContext(surroundings: Surroundings, json: boolean): Context {
  const { env, stdin, stdout, stderr } = surroundings;
  const paintErr = paintFor(stderr, env);
  let exit: ExitCode = EXIT.done;
  const say = (line: string): void => void stderr.write(`${line}\n`);
  return {
    ...surroundings,
    json,
    paint: paintFor(stdout, env),
    paintErr,
    interactive: stdin.isTTY === true && stderr.isTTY === true && !json,
    say,
    async ask(question) {
      // On standard error, so that the answer on standard output can be sent to a file.
      const terminal = createInterface({ input: stdin, output: stderr });
      try {
        const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
        const reply = await Promise.race([terminal.question(`${question} [y/N] `), closed]);
        return /^y(es)?$/i.test(reply.trim());
      } finally {
        terminal.close();
      }
    },
    deliver(answer) {
      if (answer === undefined) return;
      exit = answer.exit ?? EXIT.done;
      if (json) stdout.write(`${JSON.stringify(answer.json)}\n`);
      else for (const line of answer.lines) stdout.write(`${line}\n`);
    },
    fail(error) {
      const ending = endingOf(error);
      exit = ending.exit;
      if (ending.exit === EXIT.done) return;
      if (ending.message !== undefined) say(`${paintErr('red', 'volley:')} ${ending.message}`);
      const message = ending.message ?? (error instanceof Error ? error.message : String(error));
      if (json)
        stdout.write(`${JSON.stringify({ error: { code: ending.code, message, ...ending.details } })}\n`);
    },
    exit: () => exit,
  };
}
