import type { Redis } from './connection.js';
import { onConnected } from './watch.js';

/** A server that syncs its file once a second may lose up to two seconds; so may a failover to a replica. */
const MAY_LOSE_MS = 2_000;
const CHECK_EVERY_MS = 30_000;

/** How much acknowledged data a server may lose. */
export interface Durability {
  /** Milliseconds of writes; 0 if acknowledged writes are on disk and no replica could take over without them. */
  readonly lossMs: number;
  /** Resolves after the first check, whether or not the server answered. */
  readonly known: Promise<void>;
  stop(): void;
}

/** A configured value; the server is not checked. */
export function fixedDurability(lossMs: number): Durability {
  return { lossMs, known: Promise.resolve(), stop: () => {} };
}

/**
 * Checks the server's settings every 30 s, because replicas come and go, and on each new connection. A server that does not
 * reveal them (providers forbid CONFIG) counts as one that may lose its last writes; so does a cluster with such a node.
 */
export function watchDurability(redis: Redis): Durability {
  let lossMs = MAY_LOSE_MS;
  const check = async (): Promise<void> => {
    const kept = await nodesKeepAll(redis).catch(() => [false]);
    lossMs = kept.length > 0 && kept.every(Boolean) ? 0 : MAY_LOSE_MS;
  };
  const checkAgain = (): void => void check();
  const timer = setInterval(checkAgain, CHECK_EVERY_MS).unref();
  const unwatch = onConnected(redis, checkAgain);
  return {
    get lossMs() {
      return lossMs;
    },
    known: check(),
    stop() {
      clearInterval(timer);
      unwatch();
    },
  };
}

async function nodesKeepAll(redis: Redis): Promise<boolean[]> {
  // A cluster client knows its nodes only once it is connected.
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

/** CONFIG GET returns name and value. */
function settingOf(reply: unknown): unknown {
  return Array.isArray(reply) ? reply[1] : undefined;
}
