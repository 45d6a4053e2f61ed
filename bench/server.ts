/** Starts the shipped HTTP API in its own process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Memory and CPU time of a process, from /proc. */
export interface Meter {
  readonly peakMb: number;
  readonly nowMb: number;
  readonly processorMs: number;
}

export interface Server {
  readonly origin: string;
  meter(): Meter;
  stop(): Promise<void>;
}

/** `npm run bench:build` builds it first. */
const PROGRAM = fileURLToPath(new URL('../../../../dist/workers/http.js', import.meta.url));

/** Starts the server with these settings on a free port. */
export async function startServer(settings: Readonly<Record<string, string>>): Promise<Server> {
  const child = spawn(process.execPath, [PROGRAM], {
    env: { PATH: process.env['PATH'], HTTP_PORT: '0', ...settings },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  // A bench that fails stops nothing.
  process.once('exit', () => child.kill('SIGKILL'));
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
    async stop() {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}
