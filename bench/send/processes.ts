/** The processes of bench/send.ts, which communicate over IPC channels. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { SimulatorOptions } from '../../src/tools/simulator/index.js';
import type { Order } from './contender.js';

/** Starts the simulator with these options and resolves with its base URL. */
export async function startSimulator(program: string, options: SimulatorOptions) {
  const child = spawn(process.execPath, [program, '--options', JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { messagingBaseUrl: baseUrl } = JSON.parse(String(line)) as { messagingBaseUrl: string };
  const control = (path: string) => `${new URL(baseUrl).origin}/_simulator/${path}`;
  return {
    baseUrl,
    stop: () => end(child),
    /** Clears the ledger. */
    clear: () => fetch(control('ledger'), { method: 'DELETE' }),
    /** The time of the last acceptance, ms since the epoch. Throws unless each number was accepted exactly once. */
    async lastAcceptance(requests: number): Promise<number> {
      const text = await (await fetch(control('ledger'))).text();
      const entries = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { at: number; recipients: string[] });
      const numbers = new Set(entries.flatMap(({ recipients }) => recipients));
      if (entries.length !== requests || numbers.size !== requests) {
        throw new Error(`${entries.length} requests to ${numbers.size} numbers, not ${requests}`);
      }
      return Math.max(...entries.slice(-1000).map(({ at }) => at));
    },
  };
}

/** The counters of a contender's process since its start; see meter.ts. */
export interface Meter {
  /** Commands sent to Redis. */
  readonly commands: number;
  readonly processorMs: number;
}

/** Starts a contender, which runs all rounds. */
export function startContender(program: string, env: Record<string, string>, options: string[] = []) {
  const child = fork(program, [], {
    env: { ...process.env, ...env },
    execArgv: options,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.once('exit', (code, signal) => {
    if (code !== 0) process.stderr.write(`${program} ended: ${signal ?? code}\n`);
  });
  const answer = async (is: (message: unknown) => boolean): Promise<unknown> => {
    for (;;) {
      const [message] = await once(child, 'message');
      if (is(message)) return message;
    }
  };
  return {
    ready: () => answer((message) => message === 'ready'),
    async carryOut(order: Order): Promise<void> {
      const done = answer((message) => message === 'done');
      child.send(order);
      await done;
    },
    /** The counters so far. */
    async meter(): Promise<Meter> {
      const read = answer((message) => typeof message === 'object');
      child.send('meter');
      return (await read) as Meter;
    },
    stop: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  if (child.connected) child.disconnect();
  else child.kill('SIGTERM');
  await exit;
}
