/** The worker processes of a contestant. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Contestant } from './contestants.js';
import type { Order } from './order.js';

const METER = fileURLToPath(new URL('meter.js', import.meta.url));
const ENDS_WITHIN_MS = 3_000;

export interface Team {
  /** Kills the worker with SIGKILL and starts another in its place, as a supervisor would. */
  kill(worker: number): void;
  /** Commands sent to Redis so far by the running workers. */
  commandsSent(): Promise<number>;
  /** The standard error output and unexpected exits of its processes. */
  readonly complaints: readonly string[];
  stop(): Promise<void>;
}

export function startTeam(contestant: Contestant, order: Omit<Order, 'worker'>): Team {
  const complaints: string[] = [];
  const expected = new Set<ChildProcess>();
  const workers = Array.from({ length: order.workers }, (_, worker) => start(worker));

  function start(worker: number): ChildProcess {
    const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env;
    const child = fork(contestant.program, [], {
      cwd: tmpdir(),
      env: {
        PATH,
        HOME,
        TMPDIR,
        BENCH_WORKER: String(worker),
        ...contestant.environment({ ...order, worker }),
      },
      execArgv: ['--import', METER],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const complain = (text: string): unknown => complaints.push(`${contestant.name} ${worker}: ${text}`);
    child.stderr?.setEncoding('utf8').on('data', complain);
    child.once('exit', (code, signal) => {
      if (code !== 0 && !expected.has(child)) complain(`ended with ${signal ?? code}`);
    });
    return child;
  }

  return {
    complaints,
    kill(worker) {
      const child = workers[worker];
      if (child === undefined) return;
      expected.add(child);
      child.kill('SIGKILL');
      workers[worker] = start(worker);
    },
    async commandsSent() {
      const answers = workers.filter(isRunning).map(async (child) => {
        const answer = once(child, 'message');
        child.send('meter');
        const [{ commands }] = (await answer) as [{ commands: number }];
        return commands;
      });
      return (await Promise.all(answers)).reduce((sum, commands) => sum + commands, 0);
    },
    async stop() {
      await Promise.all(workers.filter(isRunning).map(end));
    },
  };

  async function end(child: ChildProcess): Promise<void> {
    expected.add(child);
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS);
    await exit;
    clearTimeout(late);
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}
