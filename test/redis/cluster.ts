import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, type PrivateRedis, startPrivateRedis } from '../../src/redis/private-server.js';

/** A cluster of three masters on this machine, without replicas. */
export interface PrivateCluster {
  /** Contains the password: not for logs. */
  readonly url: string;
  /** One node each, in the order of their slots. */
  readonly nodes: readonly PrivateRedis[];
  /** The index in `nodes` of the node with this key. */
  nodeOf(key: string): Promise<number>;
  /** Kills a node as a power cut would. */
  kill(node: number): Promise<void>;
  /** Restarts a killed node on its port and data. */
  restart(node: number): Promise<void>;
  stop(): Promise<void>;
}

export interface PrivateClusterOptions {
  readonly appendfsync: 'always' | 'everysec';
  /** More lines of each node's configuration. */
  readonly settings?: readonly string[];
}

const NODES = 3;
const SLOTS = 16_384;
const PASSWORD = 'private-cluster';
/** A node's cluster bus listens on its port + 10,000. */
const BUS = 10_000;
const LAST_PORT = 65_535;
/** A node reports `cluster_state:fail` for its first two seconds. */
const READY_WITHIN_MS = 20_000;

/** Starts the nodes, assigns each a third of the slots, and waits until each reports the cluster as ready. */
export async function startCluster(options: PrivateClusterOptions): Promise<PrivateCluster> {
  const dir = await mkdtemp(join(tmpdir(), 'volley-cluster-'));
  const start = async (node: number, port: number): Promise<PrivateRedis> =>
    startPrivateRedis({
      dir: join(dir, `${node}`),
      port,
      password: PASSWORD,
      appendfsync: options.appendfsync,
      settings: ['cluster-enabled yes', 'cluster-node-timeout 1000', ...(options.settings ?? [])],
    });
  const nodes: PrivateRedis[] = [];
  try {
    for (let node = 0; node < NODES; node++) nodes.push(await start(node, await portWithBus()));
    await formCluster(nodes);
  } catch (error) {
    await Promise.all(nodes.map((node) => node.kill()));
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
  return {
    url: `redis+cluster://:${PASSWORD}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    async nodeOf(key) {
      const [slot] = await onEach(nodes.slice(0, 1), (redis) => redis.cluster('KEYSLOT', key));
      return Math.floor((Number(slot) * NODES) / SLOTS);
    },
    async kill(node) {
      await nodes[node]?.kill();
    },
    async restart(node) {
      const { port = 0 } = nodes[node] ?? {};
      nodes[node] = await start(node, port);
      await allReady(nodes);
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function formCluster(nodes: readonly PrivateRedis[]): Promise<void> {
  await onEach(nodes, async (redis, node) => {
    // Node n has the slots from n thirds up to n + 1 thirds, as in nodeOf.
    const [from, to] = [node, node + 1].map((share) => Math.ceil((share * SLOTS) / NODES));
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${(to ?? 0) - 1}`);
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', `${node + 1}`);
  });
  await onEach(nodes.slice(0, 1), async (redis) => {
    for (const { port } of nodes.slice(1)) await redis.call('CLUSTER', 'MEET', '127.0.0.1', `${port}`);
  });
  await allReady(nodes);
}

async function allReady(nodes: readonly PrivateRedis[]): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  for (;;) {
    const infos = await onEach(nodes, async (redis) => String(await redis.cluster('INFO')));
    const areReady = infos.map(
      (info) =>
        info.includes('cluster_state:ok') &&
        info.includes(`cluster_slots_ok:${SLOTS}`) &&
        info.includes(`cluster_known_nodes:${NODES}`),
    );
    if (!areReady.includes(false)) return;
    if (Date.now() > deadline) throw new Error(`the cluster does not become ready:\n${infos.join('\n')}`);
    await delay(50);
  }
}

async function onEach<Answer>(
  nodes: readonly PrivateRedis[],
  ask: (redis: Redis, node: number) => Promise<Answer>,
): Promise<Answer[]> {
  return Promise.all(
    nodes.map(async ({ url }, node) => {
      const redis = new Redis(url);
      try {
        return await ask(redis, node);
      } finally {
        redis.disconnect();
      }
    }),
  );
}

async function portWithBus(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (port + BUS > LAST_PORT) {
      const lower = port - BUS;
      const isFree = await freePort(lower).then(
        () => true,
        () => false,
      );
      if (isFree) return lower;
    } else return port;
  }
}
