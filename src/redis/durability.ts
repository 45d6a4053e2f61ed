import type { Redis } from './connection.js';
import { onConnected } from './watch.js';

/** A server that writes its file once a second may lose up to two; so may a replica that takes over. */
const MAY_LOSE_MS = 2_000;
const ASK_AGAIN_MS = 30_000;

/** How much of what a server has answered it may lose. */
export interface Durability {
  /** Milliseconds; 0 where what was answered is on disk and no replica could take over without it. */
  readonly lossMs: number;
  /** Resolves when the server was asked for the first time, or could not be. */
  readonly known: Promise<void>;
  stop(): void;
}

/** What is set and not asked for. */
export function fixedDurability(lossMs: number): Durability {
  return { lossMs, known: Promise.resolve(), stop: () => {} };
}

/**
 * Asks the server, now and then, because replicas come and go, and at each new connection. One that does not tell
 * (providers forbid CONFIG) counts as one that may lose its last writes, and so does a cluster with such a node.
 */
export function watchDurability(redis: Redis): Durability {
  let lossMs = MAY_LOSE_MS;
  const ask = async (): Promise<void> => {
    const kept = await each(redis).catch(() => [false]);
    lossMs = kept.length > 0 && kept.every(Boolean) ? 0 : MAY_LOSE_MS;
  };
  const again = (): void => void ask();
  const timer = setInterval(again, ASK_AGAIN_MS).unref();
  const unwatch = onConnected(redis, again);
  return {
    get lossMs() {
      return lossMs;
    },
    known: ask(),
    stop() {
      clearInterval(timer);
      unwatch();
    },
  };
}

async function each(redis: Redis): Promise<boolean[]> {
  // A cluster knows its nodes only when it has connected.
  await redis.ping();
  const nodes = 'nodes' in redis ? redis.nodes('master') : [redis];
  return Promise.all(nodes.map(keepsAll));
}

type Node = Exclude<Redis, { nodes: unknown }>;

async function keepsAll(node: Node): Promise<boolean> {
  const [appendonly, appendfsync, info] = await Promise.all([
    node.config('GET', 'appendonly'),
    node.config('GET', 'appendfsync'),
    node.info('replication'),
  ]);
  return (
    settingOf(appendonly) === 'yes' &&
    settingOf(appendfsync) === 'always' &&
    /^role:master\r?$/m.test(info) &&
    /^connected_slaves:0\r?$/m.test(info)
  );
}

/** CONFIG GET answers name and value. */
function settingOf(reply: unknown): unknown {
  return Array.isArray(reply) ? reply[1] : undefined;
}
