/** Starts the shipped HTTP API in its own process, for bench/http.ts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type { Probe } from './probe.js';

/** Memory and CPU time of a process, from /proc. */
export interface Meter {
  readonly peakMb: number;
  readonly nowMb: number;
  readonly processorMs: number;
}

export interface Server {
  readonly origin: string;
  meter(): Meter;
  /** Collects garbage, and says how long the event loop was blocked since the last call. The peak memory starts anew. */
  probe(): Promise<Probe>;
  stop(): Promise<void>;
}

/** `npm run bench:build` builds it first. */
const PROGRAM = fileURLToPath(new URL('../../../../../dist/workers/http.js', import.meta.url));

const PROBE = new URL('./probe.js', import.meta.url).href;

/** Starts the server with these settings on a free port. `isProbed`: for {@link Server.probe}, which costs a little CPU time. */
export async function startServer(
  settings: Readonly<Record<string, string>>,
  { isProbed = false } = {},
): Promise<Server> {
  const flags = isProbed ? ['--expose-gc', '--import', PROBE] : [];
  const child = spawn(process.execPath, [...flags, PROGRAM], {
    env: { PATH: process.env['PATH'], HTTP_PORT: '0', ...settings },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  if (child.stderr === null) throw new Error('the log of the server is not read');
  const lines = createInterface({ input: child.stderr });
  const origin = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the server has ended')));
    lines.on('line', (line) => {
      const entry: { event?: string; url?: string } = line.startsWith('{') ? JSON.parse(line) : {};
      if (entry.event === 'http.listening' && entry.url !== undefined) resolve(entry.url);
      if (entry.event === 'http.failed' || entry.event === undefined) process.stderr.write(`${line}\n`);
    });
  });
  return {
    origin,
    meter() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      const megabytes = (name: string): number =>
        Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024);
      // User and system time are the 14th and 15th field, in ticks of 10 ms. The name before them may contain spaces.
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      const processorMs = (Number(fields[11]) + Number(fields[12])) * 10;
      return { peakMb: megabytes('VmHWM'), nowMb: megabytes('VmRSS'), processorMs };
    },
    async probe() {
      const answer = once(child, 'message');
      child.send('probe');
      const [probe] = (await answer) as [Probe];
      // Linux resets the peak of the resident memory.
      writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
      return probe;
    },
    async stop() {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}
