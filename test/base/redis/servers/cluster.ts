import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import {
  freePort,
  isFree,
  type PrivateRedis,
  startPrivateRedis,
} from '../../../../src/base/redis/private-server.js';

/** A cluster of three masters on this machine. */
export interface PrivateCluster {
  /** Contains the password: not for logs. */
  readonly url: string;
  /** The first three are the masters, in the order of their slots. With `replicas`, node n + 3 is the replica of node n. */
  readonly nodes: readonly PrivateRedis[];
  /** The index in `nodes` of the node with this key, as long as no slot has moved. */
  nodeOf(key: string): Promise<number>;
  /** Moves the slot of this key to the next master, as a reshard does, and returns how long that took, ms. */
  moveSlot(key: string): Promise<number>;
  /** Starts to move the slot of this key, moves so many of its keys (default: 1), and leaves it at that. The function moves the rest. */
  moveSlotHalfway(key: string, count?: number): Promise<() => Promise<void>>;
  /** Lets the replica of the node with this key take over without losing a write (`CLUSTER FAILOVER`). */
  failOver(key: string): Promise<void>;
  /** Kills a node as a power cut would. */
  kill(node: number): Promise<void>;
  /** Restarts a killed or stopped node on its port and data. */
  restart(node: number): Promise<void>;
  stop(): Promise<void>;
}

export interface PrivateClusterOptions {
  readonly appendfsync: 'always' | 'everysec';
  /** Whether each master has a replica; default: no. */
  readonly replicas?: boolean;
  /** How long a node is silent until the others call it dead, ms; default: 1,000. Longer on a busy machine, where none is to die. */
  readonly deadAfterMs?: number;
  /** More lines of each node's configuration. */
  readonly settings?: readonly string[];
}

const NODES = 3;
const SLOTS = 16_384;
const PASSWORD = 'private-cluster';
/** A node's cluster bus listens on its port + 10,000. */
const BUS = 10_000;
const FIRST_OUTGOING_PORT = 32_768;
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
      settings: [
        'cluster-enabled yes',
        `cluster-node-timeout ${options.deadAfterMs ?? 1_000}`,
        `masterauth ${PASSWORD}`,
        ...(options.settings ?? []),
      ],
    });
  const nodes: PrivateRedis[] = [];
  try {
    for (let node = 0; node < NODES; node++) nodes.push(await start(node, await portWithBus()));
    await formCluster(nodes);
    if (options.replicas === true) {
      for (let node = NODES; node < 2 * NODES; node++) nodes.push(await start(node, await portWithBus()));
      await addReplicas(nodes);
    }
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
    async moveSlot(key) {
      const began = performance.now();
      const move = await beginMove(nodes, key);
      await move.rest();
      return performance.now() - began;
    },
    async moveSlotHalfway(key, count = 1) {
      const move = await beginMove(nodes, key);
      await move.keys(count);
      return move.rest;
    },
    async failOver(key) {
      const master = await masterOf(nodes, key);
      const replica = nodes.findIndex((_, node) => node % NODES === master % NODES && node !== master);
      await onEach(nodes.slice(replica, replica + 1), (redis) => redis.cluster('FAILOVER'));
      await until('the replica does not take over', async () => (await masterOf(nodes, key)) === replica);
      await allReady(nodes);
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

/** Makes each node from the fourth on the replica of the master three places before it. */
async function addReplicas(nodes: readonly PrivateRedis[]): Promise<void> {
  const ids = await onEach(nodes.slice(0, NODES), async (redis) => String(await redis.cluster('MYID')));
  await onEach(nodes.slice(0, 1), async (redis) => {
    for (const { port } of nodes.slice(NODES)) await redis.call('CLUSTER', 'MEET', '127.0.0.1', `${port}`);
  });
  await allReady(nodes);
  await onEach(nodes.slice(NODES), async (redis, replica) => {
    await redis.call('CLUSTER', 'REPLICATE', ids[replica] ?? '');
    await until('a replica does not connect', async () =>
      String(await redis.info('replication')).includes('master_link_status:up'),
    );
  });
}

/** The index of the node that serves this key. Nodes that do not answer are passed over. */
async function masterOf(nodes: readonly PrivateRedis[], key: string): Promise<number> {
  const own = await onEach(nodes, async (redis) => {
    const slot = Number(await redis.cluster('KEYSLOT', key));
    const me = /^.*\bmyself,master\b.*$/m.exec(String(await redis.cluster('NODES')))?.[0] ?? '';
    const ranges = me
      .split(' ')
      .slice(8)
      .filter((range) => !range.startsWith('['));
    return ranges.some((range) => {
      const [from = 0, to = from] = range.split('-').map(Number);
      return from <= slot && slot <= to;
    });
  });
  return own.indexOf(true);
}

/** Starts to move the slot of a key from its node to the next master. */
async function beginMove(nodes: readonly PrivateRedis[], key: string) {
  const from = await masterOf(nodes, key);
  const to = (from + 1) % NODES;
  const [source, target] = [nodes[from], nodes[to]];
  if (source === undefined || target === undefined) throw new Error(`no node has the slot of ${key}`);
  const [sourceId = '', targetId = ''] = await onEach([source, target], async (redis) =>
    String(await redis.cluster('MYID')),
  );
  const slot = await onEach([source], async (redis) => String(await redis.cluster('KEYSLOT', key)));
  const setSlot = (node: PrivateRedis, ...args: readonly string[]) =>
    onEach([node], (redis) => redis.call('CLUSTER', 'SETSLOT', `${slot}`, ...args));
  await setSlot(target, 'IMPORTING', sourceId);
  await setSlot(source, 'MIGRATING', targetId);
  const move = async (count: number): Promise<number> => {
    const [moved = 0] = await onEach([source], async (redis) => {
      const keys = (await redis.call('CLUSTER', 'GETKEYSINSLOT', `${slot}`, `${count}`)) as string[];
      if (keys.length > 0) {
        const auth = ['AUTH', PASSWORD, 'KEYS', ...keys];
        await redis.call('MIGRATE', '127.0.0.1', `${target.port}`, '', '0', '5000', ...auth);
      }
      return keys.length;
    });
    return moved;
  };
  return {
    keys: move,
    async rest(): Promise<void> {
      while ((await move(10)) > 0);
      await setSlot(target, 'NODE', targetId);
      await setSlot(source, 'NODE', targetId);
      for (const [node, other] of nodes.slice(0, NODES).entries())
        if (node !== from && node !== to) await setSlot(other, 'NODE', targetId);
    },
  };
}

async function until(late: string, isDone: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await isDone())) {
    if (Date.now() > deadline) throw new Error(late);
    await delay(50);
  }
}

async function allReady(nodes: readonly PrivateRedis[]): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  for (;;) {
    const infos = await onEach(nodes, async (redis) => String(await redis.cluster('INFO')));
    const areReady = infos.map(
      (info) =>
        info.includes('cluster_state:ok') &&
        info.includes(`cluster_slots_ok:${SLOTS}`) &&
        info.includes(`cluster_known_nodes:${nodes.length}`),
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

/** A port whose cluster bus port is free too. Neither is one that the system gives to outgoing connections. */
export async function portWithBus(): Promise<number> {
  for (;;) {
    const port = await freePort(FIRST_OUTGOING_PORT - BUS);
    if (await isFree(port + BUS)) return port;
  }
}
