import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findServer } from '../../../../src/base/redis/find-server.js';
import { endWithThisProcess, freePort } from '../../../../src/base/redis/private-server.js';

/** A master with replicas, watched by Sentinels, on this machine. */
export interface PrivateSentinel {
  /** Contains the password: not for logs. */
  readonly url: string;
  /** A server that Sentinel may promote. Contains the password. */
  readonly replicaUrl: string;
  /** Kills the master, as a power cut would, and resolves when Sentinel has promoted a replica. */
  failOver(): Promise<void>;
  /** Resolves when Sentinel has promoted a replica. */
  promoted(): Promise<void>;
  stop(): Promise<void>;
}

/** How many servers run, and where. */
export interface SentinelOptions {
  /** How long the master is silent until a Sentinel calls it dead, ms; default: 1,000. Longer on a busy machine, where it is not to die. */
  readonly deadAfterMs?: number;
  /** Of which a majority has to agree; default 3. */
  readonly sentinels?: number;
  /** Default 1. */
  readonly replicas?: number;
  /** More lines of the configuration of every server. */
  readonly settings?: readonly string[];
  /** The addresses of the servers; default: the loopback address. */
  readonly here?: string;
  /** Another network, in which the master and one Sentinel run; default: all run in the same. */
  readonly elsewhere?: { readonly there: string; readonly launcher: readonly string[] };
}

/** A server of this set. */
interface Server {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  stop(): Promise<void>;
}

const PASSWORD = 'private-sentinel';
const READY_WITHIN_MS = 20_000;

/** Starts the servers. Resolves when each Sentinel knows the replicas. Throws if the machine has no redis-server. */
export async function startSentinel(options: SentinelOptions = {}): Promise<PrivateSentinel> {
  const { sentinels: count = 3, replicas = 1, settings = [], here = '127.0.0.1' } = options;
  const { there, launcher } = options.elsewhere ?? { there: here, launcher: [] };
  const program = await findServer();
  if (program === undefined) throw new Error('this machine has no redis-server');
  const dir = await mkdtemp(join(tmpdir(), 'volley-sentinel-'));
  const started: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((one) => one.stop()));
    await rm(dir, { recursive: true, force: true });
  };
  const start = async (
    name: string,
    host: string,
    lines: readonly string[],
    args: readonly string[] = [],
  ) => {
    const isHere = host === here;
    const server = await runServer({
      launcher: isHere ? [] : launcher,
      program,
      folder: join(dir, name),
      host,
      lines,
      args,
    });
    started.push(server);
    return server;
  };
  // After a failover the old master becomes a replica, which needs the password too.
  const stored = [
    `requirepass ${PASSWORD}`,
    `masterauth ${PASSWORD}`,
    'appendonly yes',
    'appendfsync always',
    'save ""',
    'maxmemory-policy noeviction',
    'repl-diskless-sync-delay 0',
    ...settings,
  ];
  try {
    const master = await start('master', there, stored);
    const following = await Promise.all(
      Array.from({ length: replicas }, (_, at) =>
        start(`replica-${at}`, here, [...stored, `replicaof ${there} ${master.port}`]),
      ),
    );
    for (const { url } of following) {
      await until('a replica does not connect', async () =>
        String(await ask(url, 'INFO', 'replication')).includes('master_link_status:up'),
      );
    }
    const watching = [
      `sentinel monitor main ${there} ${master.port} ${Math.floor(count / 2) + 1}`,
      `sentinel auth-pass main ${PASSWORD}`,
      `sentinel down-after-milliseconds main ${options.deadAfterMs ?? 1_000}`,
      'sentinel failover-timeout main 3000',
    ];
    const sentinels: Server[] = [];
    for (let at = 0; at < count; at += 1) {
      const host = at === 0 ? there : here;
      sentinels.push(
        await start(`sentinel-${at}`, host, [`sentinel announce-ip ${host}`, ...watching], ['--sentinel']),
      );
    }
    // Sentinel can promote only a replica that it knows, and needs the votes of the others.
    await until('a Sentinel does not know the replicas and the other Sentinels', async () => {
      const known = await Promise.all(
        sentinels.map(async ({ url }) => {
          const [slaves, others] = await Promise.all(
            ['REPLICAS', 'SENTINELS'].map((list) => ask(url, 'SENTINEL', list, 'main')),
          );
          return lengthOf(slaves) === replicas && lengthOf(others) === count - 1;
        }),
      );
      return known.every(Boolean);
    });
    const nodes = sentinels.map(({ host, port }) => `${host}:${port}`).join(',');
    const promoted = (): Promise<void> =>
      until('Sentinel does not promote a replica', async () => {
        const roles = await Promise.all(following.map(({ url }) => ask(url, 'ROLE')));
        return roles.some((role) => String(role).startsWith('master'));
      });
    return {
      url: `redis+sentinel://:${PASSWORD}@${nodes}/main`,
      replicaUrl: following[0]?.url ?? '',
      async failOver() {
        await master.stop();
        await promoted();
      },
      promoted,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface ServerSettings {
  readonly launcher: readonly string[];
  readonly program: string;
  readonly folder: string;
  readonly host: string;
  readonly lines: readonly string[];
  readonly args: readonly string[];
}

/** Starts a server or Sentinel and waits until it answers. It is killed when it is stopped. */
async function runServer(settings: ServerSettings): Promise<Server> {
  const { launcher, program, folder, host, lines, args } = settings;
  const port = await freePort();
  await mkdir(folder);
  // Sentinel writes its state to this file.
  const file = join(folder, 'redis.conf');
  const own = [`bind ${host}`, `port ${port}`, `dir ${folder}`, 'logfile redis.log'];
  await writeFile(file, `${[...own, ...lines].join('\n')}\n`, { mode: 0o600 });
  const [command = program, ...rest] = [...launcher, program, file, ...args];
  const child: ChildProcess = spawn(command, rest, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  endWithThisProcess(child, child.pid ?? 0);
  const url = args.includes('--sentinel')
    ? `redis://${host}:${port}`
    : `redis://:${PASSWORD}@${host}:${port}`;
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  try {
    await until(
      `${program} does not answer on ${host}:${port}`,
      async () => (await ask(url, 'PING')) === 'PONG',
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, host, port, stop };
}

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : -1);

/** Asks once, without a retry. Resolves with an empty string if the server does not answer. */
async function ask(url: string, command: string, ...args: readonly string[]): Promise<unknown> {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: 1_000,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  redis.on('error', () => {});
  try {
    return await redis.call(command, ...args).catch(() => '');
  } finally {
    redis.disconnect();
  }
}

async function until(otherwise: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${otherwise} within ${READY_WITHIN_MS / 1000} s`);
    await delay(100);
  }
}
