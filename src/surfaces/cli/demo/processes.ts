import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { assertLoopback, type Environment } from '../../../base/config/index.js';
import { endWithThisProcess } from '../../../base/redis/private-server.js';
import { SIMULATOR } from './plan.js';

const SIMULATOR_MAIN = fileURLToPath(new URL('../../../tools/simulator/main.js', import.meta.url));
const WORKER_MAIN = fileURLToPath(new URL('../../../../workers/all.js', import.meta.url));

const ENDS_WITHIN_MS = 8_000;
const addresses = z.object({ messagingBaseUrl: z.string(), accountBaseUrl: z.string() });

/** A process of the demo. */
export interface Started {
  readonly pid: number;
  /** Resolves when it has ended, with its last line on standard error. */
  readonly ended: Promise<string>;
  /** Stops it; after some seconds, kills it. */
  stop(): Promise<void>;
}

/** Starts the simulator. Rejects if its addresses are not on this machine. */
export async function startSimulatorProcess(cwd: string): Promise<Started & z.output<typeof addresses>> {
  const child = start([SIMULATOR_MAIN, '--options', JSON.stringify(SIMULATOR)], {}, cwd);
  const started = watched(child, () => {});
  const line = await Promise.race([
    firstLine(child),
    started.ended.then((message) => Promise.reject(new Error(message))),
  ]);
  const parsed = addresses.parse(JSON.parse(line));
  assertLoopback(parsed.messagingBaseUrl);
  assertLoopback(parsed.accountBaseUrl);
  return { ...started, ...parsed };
}

/** Starts a worker with only this environment; `cwd` has no `.env`. `onLog` gets each line of its log. */
export function startWorkerProcess(env: Environment, cwd: string, onLog: (line: string) => void): Started {
  return watched(start([WORKER_MAIN], env, cwd), onLog);
}

function start(args: readonly string[], env: Environment, cwd: string): ChildProcess {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [...args], {
    cwd,
    env: { ...(PATH === undefined ? {} : { PATH }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) endWithThisProcess(child, child.pid);
  return child;
}

function watched(child: ChildProcess, onLine: (line: string) => void): Started {
  let last = '';
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      last = line;
      onLine(line);
    });
  }
  const ended = once(child, 'close').then(
    ([code]) => `a process of the demo ended (${String(code)}): ${last}`,
  );
  return {
    pid: child.pid ?? 0,
    ended,
    async stop() {
      child.kill('SIGTERM');
      const patience = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS);
      await ended;
      clearTimeout(patience);
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the process has no standard output');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the process printed nothing');
}
