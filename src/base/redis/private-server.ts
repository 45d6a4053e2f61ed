import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '../clock.js';
import { connect } from './connection.js';
import { obtainServer } from './find-server.js';
import type { ProcessEnd } from './why-ended.js';

/** How to run a private server. */
interface PrivateRedisOptions {
  /**
   * Folder of the append-only files and the log; created if it does not exist. Existing data is loaded first. Default: a new temporary
   * folder, which `stop` removes.
   */
  dir?: string;
  /** `always`: acknowledged writes are on disk. `everysec`: up to a second of them may be lost. */
  appendfsync: 'always' | 'everysec';
  /** TCP port on the loopback interface; default: a free one. */
  port?: number;
  /** Password; default: a new random one, which only `url` contains. */
  password?: string;
  /** The server program; default: the one found on this machine. */
  program?: string;
  /** More lines of its configuration. */
  settings?: readonly string[];
  /** Runs with the process id of the server and its port, before the server listens. If it rejects, so does the start. */
  beforeListening?: (pid: number, port: number) => Promise<void>;
}

/** A Redis server that belongs to this process. */
export interface PrivateRedis {
  /** Contains the password: not for logs. The same after a restart. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when the server has ended, for whatever reason. */
  readonly ended: Promise<ProcessEnd>;
  /** Kills the server, as a power cut would, and waits for it. */
  kill(): Promise<void>;
  /** Kills the server, if it runs, and starts it again with the same port, password, and data. */
  restart(): Promise<void>;
  /** Shuts the server down and waits for it; does nothing if it has already ended. */
  stop(): Promise<void>;
}

/** Loading a large append-only file takes a while; a server that has not answered after this time never will. */
const READY_WITHIN_MS = 60_000;

/**
 * Starts a Redis server for this process only (loopback, append-only file, no eviction) and waits until it has loaded its data
 * and answers. It runs in its own session, so that Ctrl-C reaches the workers and not the Redis that they still need to settle;
 * and it ends when this process ends, for whatever reason. Throws if there is no server program, or if the server ends before it
 * answers, with the end of its log.
 */
export async function startPrivateRedis(options: PrivateRedisOptions): Promise<PrivateRedis> {
  const program = options.program ?? (await obtainServer());
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'volley-redis-')));
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const password = options.password ?? randomBytes(24).toString('hex');
  const urlOf = (port: number): string => `redis://:${password}@127.0.0.1:${port}`;
  const startOn = (port: number): Promise<RunningServer> =>
    launch({ ...options, program, dir, port, password, url: urlOf(port) });
  const first = await (options.port === undefined ? onFreePort(startOn) : startOn(options.port));
  const { port } = first;
  let server = first;
  return {
    url: urlOf(port),
    port,
    get pid() {
      return server.pid;
    },
    get ended() {
      return server.ended;
    },
    kill: () => server.end('SIGKILL'),
    async restart() {
      await server.end('SIGKILL');
      server = await startOn(port);
    },
    async stop() {
      await server.end('SIGTERM');
      if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
    },
  };
}

interface RunningServer extends Pick<PrivateRedis, 'pid' | 'port' | 'ended'> {
  end(signal: NodeJS.Signals): Promise<void>;
}

type LaunchOptions = PrivateRedisOptions &
  Required<Pick<PrivateRedisOptions, 'program' | 'dir' | 'port' | 'password'>> & { readonly url: string };

async function launch(options: LaunchOptions): Promise<RunningServer> {
  const { program, dir, port, url, beforeListening } = options;
  const server = spawn(program, ['-'], { cwd: dir, detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = new Promise<ProcessEnd>((resolve) => {
    server.once('exit', (code, signal) => resolve({ code, signal }));
    server.once('error', () => resolve({ code: null, signal: null }));
  });
  await once(server, 'spawn');
  const pid = pidOf(server);
  server.stdin?.on('error', () => {});
  endWithThisProcess(server, pid);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    server.kill(signal);
    await ended;
  };
  // The server reads all its settings before it opens its port.
  await beforeListening?.(pid, port).catch(async (error: unknown) => {
    await end('SIGKILL');
    throw error;
  });
  // Through standard input, so that the password appears in no process list and no file.
  server.stdin?.end(settingsOf(options));
  try {
    await isReady(url, pid, ended);
  } catch (error) {
    await end('SIGKILL');
    const log = await readFile(join(dir, 'redis.log'), 'utf8').catch(() => '');
    const reason = error instanceof Error ? error.message : String(error);
    const lastLines = log.trim().split('\n').slice(-3).join(' | ');
    const Failure = lastLines.includes('Address already in use') ? PortTakenError : Error;
    throw new Failure(`${program} did not start on port ${port}: ${reason}. Its log ends: ${lastLines}`, {
      cause: error,
    });
  }
  return { pid, port, ended, end };
}

class PortTakenError extends Error {}

const STARTS = 3;

/** Starts a server on a free port, and on another one if a process takes the port before the server listens on it. */
async function onFreePort(startOn: (port: number) => Promise<RunningServer>): Promise<RunningServer> {
  for (let starts = 1; ; starts += 1) {
    try {
      return await startOn(await freePort());
    } catch (error) {
      if (!(error instanceof PortTakenError) || starts === STARTS) throw error;
    }
  }
}

/** Linux gives the ports from 32768 to outgoing connections, macOS those from 49152: one of them may be taken at any moment. */
const OUTGOING_FROM = 32_768;
const FREE_FROM = 10_000;
const TRIES = 50;

/** A free TCP port of the loopback interface that no outgoing connection takes before a server listens on it, below `below`. */
export async function freePort(below = OUTGOING_FROM): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(FREE_FROM, below);
    if (await isFree(port)) return port;
  }
  throw new Error(`${TRIES} TCP ports of 127.0.0.1 are in use`);
}

/** Whether a server can listen on this port of the loopback interface. */
export async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  const listens = await once(probe, 'listening').then(
    () => true,
    () => false,
  );
  if (listens) await once(probe.close(), 'close');
  return listens;
}

function settingsOf({ port, password, appendfsync, settings = [] }: LaunchOptions): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    'appendonly yes',
    `appendfsync ${appendfsync}`,
    'save ""',
    'maxmemory-policy noeviction',
    'logfile redis.log',
    ...settings,
    '',
  ].join('\n');
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the server has no process id');
  return child.pid;
}

/**
 * Starts a shell that waits for the end of a pipe from this process, which the system closes even after `kill -9`, and then ends
 * the child. The shell is killed when the child ends, before its process id could be reused.
 */
export function endWithThisProcess(child: ChildProcess, pid: number): void {
  const guard = spawn('/bin/sh', ['-c', 'read -r _; kill "$1" 2>/dev/null', 'volley-guard', `${pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.once('error', () => {});
  guard.stdin?.on('error', () => {});
  guard.unref();
  child.once('exit', () => guard.kill('SIGKILL'));
}

/** Checks the process id too: if the server lost a race for the port, another server answers. */
async function isReady(url: string, pid: number, ended: Promise<unknown>): Promise<void> {
  // A blocking connection waits while the server loads its data.
  const redis = connect(url, 'blocking');
  const endedEarly = ended.then(() => Promise.reject(new Error('it ended immediately')));
  try {
    const info = await within(READY_WITHIN_MS, Promise.race([redis.info('server'), endedEarly]));
    if (!info.includes(`process_id:${pid}\r\n`)) throw new Error('another server answers on its port');
  } finally {
    redis.disconnect();
  }
}
