import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '../../src/base/redis/connection.js';
import { type PrivateRedis, startPrivateRedis } from '../../src/base/redis/private-server.js';
import { type PrivateCluster, startCluster } from '../base/redis/servers/cluster.js';
import { startSentinel } from '../base/redis/servers/sentinel.js';
import { type SeparateNetwork, separateNetwork } from './separate-network.js';
import { mountSmallDisk, type SmallDisk } from './small-disk.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

/** A Redis server that a scenario can kill, restart, fail over, and make lose data. */
export interface FailingRedis {
  /** Set if it is a cluster. Then no other fault is possible. */
  readonly cluster?: PrivateCluster;
  /** Set if the master runs in a network of its own, which a partition cuts off. */
  readonly separate?: SeparateNetwork;
  /** Set if its files are on a disk that can be filled. */
  readonly disk?: SmallDisk;
  /** Whether the processes connect without a proxy, because this Redis tells them its servers' addresses. */
  readonly isDirect: boolean;
  /** The URL of the current server, including the password. It changes with a failover. */
  readonly url: string;
  readonly port: number;
  /** Runs one command on a separate connection. */
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
  kill(): Promise<void>;
  /** Restarts it with the same port and data. */
  restart(): Promise<void>;
  /** The current size of the append-only file in bytes. */
  logSize(): Promise<number>;
  /** Truncates the append-only file of a killed server, like a disk that had not written the rest. */
  truncateLog(bytes: number): Promise<void>;
  /** Stops the replication to the replica. */
  pauseReplication(): void;
  /** Kills the server. Its replica is promoted with the data that it has. */
  failOver(): Promise<void>;
  /** Cuts the server off from its replicas and promotes one. The server stays up until `heal`. */
  partition(): Promise<void>;
  /** Ends the partition: the server that was cut off is gone, or becomes a replica. */
  heal(): Promise<void>;
  stop(): Promise<void>;
}

const REPLICATION_WITHIN_MS = 20_000;

/**
 * What the server may lose: nothing, because every acknowledged write is on disk; up to a second of writes; or the writes
 * that its replica has not received. `cluster` and `replicatedCluster`: as `everySecond` and `replicated`, on three masters.
 * `sentinel`: as `replicated`, and three Sentinels promote the replica.
 * `separateSentinel`: the master, one of three Sentinels, and the first process run in a network of their own, and two replicas
 * and the rest elsewhere; every server refuses writes when it has not heard of a replica for 10 s.
 * `fenced`: it has a replica, and refuses writes when it has not heard of it for 10 s; `unfenced`: it accepts them for as long as it
 * is cut off.
 * `smallDisk` and `smallDiskEverySecond`: as `safe` and `everySecond`, on a disk that can be filled.
 */
export type Durability =
  | 'safe'
  | 'everySecond'
  | 'replicated'
  | 'cluster'
  | 'replicatedCluster'
  | 'sentinel'
  | 'separateSentinel'
  | 'fenced'
  | 'unfenced'
  | 'smallDisk'
  | 'smallDiskEverySecond';

/** The settings of a server that refuses writes when it is cut off from its replica. */
const FENCE = ['min-replicas-to-write 1', 'min-replicas-max-lag 10'];

/** Starts the server, with a replica if `durability` asks for one. Throws if the machine has no redis-server. */
export async function startFailingRedis(folder: string, durability: Durability): Promise<FailingRedis> {
  if (durability === 'cluster' || durability === 'replicatedCluster') return failingCluster(durability);
  if (durability === 'sentinel') return failingSentinel();
  if (durability === 'separateSentinel') return separateSentinel();
  const appendfsync =
    durability === 'everySecond' || durability === 'smallDiskEverySecond' ? 'everysec' : 'always';
  const dir = (name: string): string => join(folder, name);
  let current = 'first';
  const isSmall = durability === 'smallDisk' || durability === 'smallDiskEverySecond';
  const disk = isSmall ? await mountSmallDisk(dir(current)) : undefined;
  let server = await startPrivateRedis({ dir: dir(current), appendfsync });
  const { password } = new URL(server.url);
  let replica: { server: PrivateRedis; proxy: TcpProxy } | undefined;
  let cutOff: { server: PrivateRedis; proxy: TcpProxy } | undefined;

  /** Starts a replica and waits until it is in sync. */
  const follow = async (): Promise<void> => {
    const proxy = await startTcpProxy(server.port);
    const follower = await startPrivateRedis({ dir: dir('second'), appendfsync, password });
    replica = { server: follower, proxy };
    await ask(server.url, 'CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
    await ask(follower.url, 'CONFIG', 'SET', 'masterauth', password);
    await ask(follower.url, 'REPLICAOF', '127.0.0.1', String(proxy.port));
    const deadline = Date.now() + REPLICATION_WITHIN_MS;
    while (!String(await ask(follower.url, 'INFO', 'replication')).includes('master_link_status:up')) {
      if (Date.now() > deadline) throw new Error('the replica did not connect in time');
      await new Promise((later) => setTimeout(later, 50));
    }
  };
  if (durability === 'replicated' || durability === 'fenced' || durability === 'unfenced') await follow();
  if (durability === 'fenced') {
    for (const line of FENCE) await ask(server.url, 'CONFIG', 'SET', ...line.split(' '));
  }

  const heal = async (): Promise<void> => {
    await cutOff?.proxy.close();
    await cutOff?.server.kill();
    cutOff = undefined;
  };

  return {
    ...(disk === undefined ? {} : { disk }),
    isDirect: false,
    get url() {
      return server.url;
    },
    get port() {
      return server.port;
    },
    ask: (command, ...args) => ask(server.url, command, ...args),
    kill: () => server.kill(),
    restart: () => server.restart(),
    logSize: async () => (await stat(await lastIncrement(dir(current)))).size,
    truncateLog: async (bytes) => truncate(await lastIncrement(dir(current)), bytes),
    pauseReplication: () => replica?.proxy.hold(),
    async failOver() {
      if (replica === undefined) throw new Error('this Redis has no replica');
      await server.kill();
      // Promote the replica before its proxy closes, so that the held writes never arrive.
      await ask(replica.server.url, 'REPLICAOF', 'NO', 'ONE');
      await replica.proxy.close();
      [server, current, replica] = [replica.server, 'second', undefined];
    },
    async partition() {
      if (replica === undefined) throw new Error('this Redis has no replica');
      replica.proxy.hold('both');
      await ask(replica.server.url, 'REPLICAOF', 'NO', 'ONE');
      cutOff = { server, proxy: replica.proxy };
      [server, current, replica] = [replica.server, 'second', undefined];
    },
    heal,
    async stop() {
      await heal();
      await replica?.proxy.close();
      await replica?.server.kill();
      await server.kill();
      await disk?.close();
    },
  };
}

async function failingCluster(durability: 'cluster' | 'replicatedCluster'): Promise<FailingRedis> {
  const cluster = await startCluster({
    appendfsync: 'everysec',
    replicas: durability === 'replicatedCluster',
  });
  return {
    ...impossible('a cluster'),
    cluster,
    url: cluster.url,
    port: cluster.nodes[0]?.port ?? 0,
    stop: () => cluster.stop(),
  };
}

async function failingSentinel(): Promise<FailingRedis> {
  const { url, replicaUrl, failOver, stop } = await startSentinel();
  return {
    ...impossible('watched by Sentinel'),
    url,
    port: Number(new URL(replicaUrl).port),
    failOver,
    stop,
  };
}

async function separateSentinel(): Promise<FailingRedis> {
  const separate = await separateNetwork();
  try {
    const { url, replicaUrl, promoted, stop } = await startSentinel({
      replicas: 2,
      settings: FENCE,
      here: separate.here,
      elsewhere: separate,
    });
    return {
      ...impossible('watched by Sentinel'),
      separate,
      url,
      port: Number(new URL(replicaUrl).port),
      async partition() {
        await separate.cut();
        await promoted();
      },
      heal: () => separate.join(),
      async stop() {
        await stop();
        await separate.close();
      },
    };
  } catch (error) {
    await separate.close();
    throw error;
  }
}

/** The faults that such a Redis does not have. */
function impossible(kind: string): Omit<FailingRedis, 'cluster' | 'separate' | 'url' | 'port' | 'stop'> {
  const fails = async (): Promise<never> => {
    throw new TypeError(`this Redis is ${kind}`);
  };
  return {
    isDirect: true,
    ask: fails,
    kill: fails,
    restart: fails,
    logSize: fails,
    truncateLog: fails,
    pauseReplication: () => void fails(),
    failOver: fails,
    partition: fails,
    heal: fails,
  };
}

async function ask(url: string, command: string, ...args: readonly string[]): Promise<unknown> {
  const redis = connect(url, 'blocking');
  try {
    if (!('call' in redis)) throw new TypeError('the Redis must be a single server');
    return await redis.call(command, ...args);
  } finally {
    redis.disconnect();
  }
}

/** The newest incremental append-only file, which Redis appends to. */
async function lastIncrement(dir: string): Promise<string> {
  const folder = join(dir, 'appendonlydir');
  const numberOf = (file: string): number => Number(/\.(\d+)\.incr\.aof$/.exec(file)?.[1] ?? -1);
  const files = (await readdir(folder)).filter((file) => numberOf(file) >= 0);
  const last = files.sort((a, b) => numberOf(a) - numberOf(b)).at(-1);
  if (last === undefined) throw new Error(`no append-only file in ${folder}`);
  return join(folder, last);
}
