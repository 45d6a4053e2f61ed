/** The HTTP API as it is shipped, in a process of its own, for bench/http.ts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** What a process has taken. Linux tells it. */
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
const PROGRAM = fileURLToPath(new URL('../../../../../dist/workers/http.js', import.meta.url));

/** Starts it with these settings, at a port of its own. */
export async function startServer(settings: Readonly<Record<string, string>>): Promise<Server> {
  const child = spawn(process.execPath, [PROGRAM], {
    env: { PATH: process.env['PATH'], HTTP_PORT: '0', ...settings },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const lines = createInterface({ input: child.stderr });
  const origin = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the server has ended')));
    lines.on('line', (line) => {
      const told: { event?: string; url?: string } = line.startsWith('{') ? JSON.parse(line) : {};
      if (told.event === 'http.listening' && told.url !== undefined) resolve(told.url);
      if (told.event === 'http.failed' || told.event === undefined) process.stderr.write(`${line}\n`);
    });
  });
  return {
    origin,
    meter() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      const megabytes = (name: string): number =>
        Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024);
      // After the name, which may hold anything: user and system time are the 14th and 15th field, in ticks of 10 ms.
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
