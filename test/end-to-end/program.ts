import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

/** A process of this package, started for a test. */
export interface Program {
  readonly pid: number;
  /** The last 2,000 lines of standard error. */
  readonly log: readonly string[];
  readonly isRunning: boolean;
  /** The first line of standard output. */
  readonly firstLine: Promise<string>;
  /** The exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | string>;
}

const KEPT_LINES = 2_000;

/** The running programs; they are killed when this process exits. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts the compiled `dist/<path>` with this environment plus PATH, HOME, and TMPDIR. Its working directory is the folder
 * for temporary files, so that it reads no `.env`. A launcher is a program and its arguments, which replaces itself with the one
 * named after them, such as `ip netns exec NAME`. Throws if the file has not been compiled.
 */
export function startProgram(
  path: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  launcher: readonly string[] = [],
): Program {
  const file = resolve('dist', path);
  if (!existsSync(file)) throw new Error(`${file} does not exist; run npm run build first`);
  const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env;
  const [program = process.execPath, ...parameters] = [...launcher, process.execPath, file, ...args];
  const child = spawn(program, parameters, {
    cwd: tmpdir(),
    env: { PATH, HOME, TMPDIR, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: string[] = [];
  let rest = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    log.push(...lines);
    if (log.length > KEPT_LINES) log.splice(0, log.length - KEPT_LINES);
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const ended = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => code ?? signal ?? 1);
  const firstLine = firstLineOf(child, ended, log);
  // Callers that do not await the first line must not see an unhandled rejection.
  firstLine.catch(() => {});
  return {
    pid: child.pid ?? 0,
    log,
    get isRunning() {
      return child.exitCode === null && child.signalCode === null;
    },
    firstLine,
    ended,
    async end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

async function firstLineOf(
  child: ChildProcess,
  ended: Promise<number | string>,
  log: readonly string[],
): Promise<string> {
  let text = '';
  const line = new Promise<string>((found) => {
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0) found(text.slice(0, end));
    });
  });
  const early = ended.then((how) =>
    Promise.reject(new Error(`the program ended with ${how}: ${log.join('\n')}`)),
  );
  return Promise.race([line, early]);
}
