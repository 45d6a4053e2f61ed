import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, vi } from 'vitest';
import { errorsIn, notSentences } from '../sentence-rule.js';

/** The built program; `npm test` builds it first. */
const MAIN = fileURLToPath(new URL('../../dist/src/surfaces/cli/main.js', import.meta.url));
const PRINTED_WITHIN = { timeout: 60_000, interval: 50 };

/** How a command ended. */
export interface Ended {
  exit: number | null;
  stdout: string;
  stderr: string;
}

/** A command that keeps running. */
export interface Running extends Ended {
  pid: number;
  /** Presses Ctrl-C and waits for the end. */
  stop(): Promise<Ended>;
}

export interface CommandLine {
  /** Runs a command to its end in this process, which is faster than starting one. */
  volley(...args: readonly string[]): Promise<Ended>;
  /** The same with `input` on standard input. */
  piped(input: string, ...args: readonly string[]): Promise<Ended>;
  /** The same with `--json`: the one object on standard output, whatever the exit code. */
  json(...args: readonly string[]): Promise<{ exit: number | null; output: unknown }>;
  /** Starts the program itself, and waits until it has printed `text`. */
  start(text: string | RegExp, ...args: readonly string[]): Promise<Running>;
}

/** A shell in `cwd`, not on a terminal, with these settings and none of the machine's own. */
export function commandLine(cwd: string, env: Readonly<Record<string, string>> = {}): CommandLine {
  async function piped(input: string, ...args: readonly string[]): Promise<Ended> {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const ended: Ended = { exit: null, stdout: '', stderr: '' };
    stdout.setEncoding('utf8').on('data', (text: string) => {
      ended.stdout += text;
    });
    stderr.setEncoding('utf8').on('data', (text: string) => {
      ended.stderr += text;
    });
    stdin.end(input);
    const { run } = await import('../../src/surfaces/cli/program.js');
    ended.exit = await run(args, {
      env,
      cwd,
      stdin: stdin as unknown as NodeJS.ReadStream,
      stdout: stdout as unknown as NodeJS.WriteStream,
      stderr: stderr as unknown as NodeJS.WriteStream,
      clock: Date.now,
    });
    await Promise.all([stdout, stderr].map((stream) => once(stream.end(), 'end')));
    expect(notSentences(errorsIn(ended.stderr))).toEqual([]);
    return ended;
  }

  const volley = (...args: readonly string[]): Promise<Ended> => piped('', ...args);

  return {
    volley,
    piped,
    async json(...args) {
      const { exit, stdout } = await volley(...args, '--json');
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
      return { exit, output: JSON.parse(stdout) };
    },
    async start(text, ...args) {
      if (!existsSync(MAIN)) throw new Error('build first: npm run build');
      const { PATH = '' } = process.env;
      const child = spawn(process.execPath, [MAIN, ...args], {
        cwd,
        env: { PATH, VOLLEY_COMMAND: 'volley', ...env },
      });
      const ended: Ended = { exit: null, stdout: '', stderr: '' };
      child.stdout.on('data', (chunk) => {
        ended.stdout += chunk;
      });
      child.stderr.on('data', (chunk) => {
        ended.stderr += chunk;
      });
      const closed = once(child, 'close').then(([exit]) => Object.assign(ended, { exit }));
      const failed = closed.then(() =>
        Promise.reject(new Error(`the command ended: ${ended.stdout}${ended.stderr}`)),
      );
      failed.catch(() => {});
      const printed = vi.waitFor(() => expect(ended.stdout + ended.stderr).toMatch(text), PRINTED_WITHIN);
      await Promise.race([printed, failed]);
      const stop = (): Promise<Ended> => {
        child.kill('SIGINT');
        return closed;
      };
      return Object.assign(ended, { pid: child.pid ?? 0, stop });
    },
  };
}
