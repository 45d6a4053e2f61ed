import { type Clock, within } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import { type DurabilityFacts, durabilityFacts, type Node } from '../../base/redis/durability.js';

const ANSWERS_WITHIN_MS = 2_000;

/** The facts about a Redis server that Volley depends on. */
export interface RedisFacts {
  /** Which node of a cluster it is. */
  readonly node?: string;
  readonly version: string;
  /** Undefined if the server does not report it. */
  readonly appendonly: string | undefined;
  readonly appendfsync: string | undefined;
  readonly eviction: string | undefined;
  readonly usedMemory: number;
  /** 0 means no limit. */
  readonly maxMemory: number;
  /** The slots that a reshard is moving to or from this node. */
  readonly movingSlots: readonly string[];
  /** How far its clock is ahead of this machine's. */
  readonly skewMs: number;
  /** Whether it answers without a user and a password, and whether Volley uses a password. */
  readonly isOpen: boolean;
  readonly hasPassword: boolean;
  /** What its data loss in a failover depends on. */
  readonly durability: DurabilityFacts;
}

/** Reads the facts from the server, or from each master of a cluster. */
export async function redisFacts(connection: Redis, clock: Clock): Promise<RedisFacts[]> {
  if (!('nodes' in connection)) return [await factsOf(connection, clock)];
  // A cluster client learns its nodes with the first command.
  await connection.ping();
  return Promise.all(
    connection.nodes('master').map(async (node) => ({
      ...(await factsOf(node, clock)),
      movingSlots: await movingSlotsOf(node),
      node: `${node.options.host}:${node.options.port}`,
    })),
  );
}

/** CLUSTER NODES lists them at the end of the node's own line: `[4421->-id]` on its way from it, `[4421-<-id]` to it. */
async function movingSlotsOf(node: Node): Promise<string[]> {
  const list = String(await node.cluster('NODES').catch(() => ''));
  const self = /^.*\bmyself\b.*$/m.exec(list)?.[0] ?? '';
  return [...self.matchAll(/\[(\d+)-[<>]-/g)].map(([, slot = '']) => slot);
}

async function factsOf(redis: Node, clock: Clock): Promise<RedisFacts> {
  const before = clock();
  const [seconds, micros] = await redis.time();
  const after = clock();
  const info = String(await redis.info());
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const setting = async (name: string): Promise<string | undefined> => {
    // Redis providers often forbid CONFIG.
    const reply: unknown = await redis.config('GET', name).catch(() => []);
    return Array.isArray(reply) && reply.length > 1 ? String(reply[1]) : undefined;
  };
  const aof = field('aof_enabled');
  return {
    version: field('redis_version') ?? '',
    appendonly: aof === undefined ? await setting('appendonly') : aof === '1' ? 'yes' : 'no',
    appendfsync: await setting('appendfsync'),
    eviction: field('maxmemory_policy') ?? (await setting('maxmemory-policy')),
    usedMemory: Number(field('used_memory') ?? 0),
    maxMemory: Number(field('maxmemory') ?? 0),
    durability: await durabilityFacts(redis),
    hasPassword: (redis.options.password ?? '') !== '',
    isOpen: await answersWithoutPassword(redis),
    movingSlots: [],
    skewMs: Math.round(Number(seconds) * 1_000 + Number(micros) / 1_000 - (before + after) / 2),
  };
}

async function answersWithoutPassword(node: Node): Promise<boolean> {
  const guest = node.duplicate({
    username: '',
    password: '',
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
  });
  guest.on('error', () => {});
  try {
    return (await within(ANSWERS_WITHIN_MS, guest.ping())) === 'PONG';
  } catch {
    return false;
  } finally {
    guest.disconnect();
  }
}
