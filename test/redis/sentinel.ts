import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findServer } from '../../src/redis/find-server.js';
import { freePort, type PrivateRedis, startPrivateRedis } from '../../src/redis/private-server.js';

/** A master with a replica, watched by Sentinels, on this machine. */
export interface PrivateSentinel {
  /** Contains the password: not for logs. */
  readonly url: string;
  /** The server that Sentinel promotes. */
  readonly replica: PrivateRedis;
  /** Kills the master, as a power cut would, and resolves when Sentinel has promoted the replica. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

const PASSWORD = 'private-sentinel';
const READY_WITHIN_MS = 20_000;

/**
 * Starts the servers and this many Sentinels, of which a majority has to agree. Resolves when each Sentinel knows the replica.
 * Throws if the machine has no redis-server.
 */
export async function startSentinel(sentinels: number): Promise<PrivateSentinel> {
  const program = await findServer();
  if (program === undefined) throw new Error('this machine has no redis-server');
  const dir = await mkdtemp(join(tmpdir(), 'volley-sentinel-'));
  const shared = { appendfsync: 'always', password: PASSWORD } as const;
  const started: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((one) => one.stop()));
    await rm(dir, { recursive: true, force: true });
  };
  try {
    // After a failover the old master becomes a replica, which needs the password too.
    const settings = [`masterauth ${PASSWORD}`];
    const master = await startPrivateRedis({ ...shared, dir: join(dir, 'master'), settings });
    started.push(master);
    const replica = await startPrivateRedis({
      ...shared,
      dir: join(dir, 'replica'),
      settings: [...settings, `replicaof 127.0.0.1 ${master.port}`],
    });
    started.push(replica);
    await until('the replica does not connect', async () =>
      String(await ask(replica.url, 'INFO', 'replication')).includes('master_link_status:up'),
    );
    const ports: number[] = [];
    for (let sentinel = 0; sentinel < sentinels; sentinel++) {
      const port = await freePort();
      ports.push(port);
      const quorum = Math.floor(sentinels / 2) + 1;
      const folder = join(dir, `sentinel-${sentinel}`);
      started.push(await runSentinel({ program, folder, port, master: master.port, quorum }));
    }
    // Sentinel can promote only a replica that it knows, and needs the votes of the others.
    await until('a Sentinel does not know the replica and the other Sentinels', async () => {
      const known = await Promise.all(
        ports.map(async (port) => {
          const [replicas, others] = await Promise.all(
            ['REPLICAS', 'SENTINELS'].map((list) => ask(sentinelUrl(port), 'SENTINEL', list, 'main')),
          );
          return lengthOf(replicas) === 1 && lengthOf(others) === sentinels - 1;
        }),
      );
      return known.every(Boolean);
    });
    return {
      url: `redis+sentinel://:${PASSWORD}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/main`,
      replica,
      async failOver() {
        await master.kill();
        await until('Sentinel does not promote the replica', async () =>
          String(await ask(replica.url, 'ROLE')).startsWith('master'),
        );
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface SentinelSettings {
  readonly program: string;
  readonly folder: string;
  readonly port: number;
  /** The port of the master. */
  readonly master: number;
  readonly quorum: number;
}

/** Starts a Sentinel with the server's own program. */
async function runSentinel(settings: SentinelSettings): Promise<{ stop(): Promise<void> }> {
  const { program, folder, port, master, quorum } = settings;
  await mkdir(folder);
  // Sentinel writes its state to this file.
  const file = join(folder, 'sentinel.conf');
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${folder}`,
    `sentinel monitor main 127.0.0.1 ${master} ${quorum}`,
    `sentinel auth-pass main ${PASSWORD}`,
    'sentinel down-after-milliseconds main 1000',
    'sentinel failover-timeout main 3000',
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const child: ChildProcess = spawn(program, [file, '--sentinel'], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  return {
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const sentinelUrl = (port: number): string => `redis://127.0.0.1:${port}`;

const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : -1);

/** Asks once, without a retry. Resolves with an empty string if the server does not answer. */
async function ask(url: string, command: string, ...args: readonly string[]): Promise<unknown> {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
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
