import { Cluster, type Redis as SingleRedis } from 'ioredis';
import type { Redis } from './connection.js';

/** Among the names of servers that are gone: all of a cluster. */
const CLUSTER = 'all';

/** Who wants to know when a connection breaks and comes back; `downMs` is how long it was away. */
export interface ConnectionWatcher {
  onLost(error: Error): void;
  onRestored(downMs: number): void;
}

/**
 * Watches a connection; tells of each break once, however often reconnecting fails, and so of a server that cannot be
 * reached to begin with. A cluster's is broken from when one of its nodes is gone until every such node is back or has
 * been replaced. Returns what ends it.
 */
export function watchConnection(redis: Redis, { onLost, onRestored }: ConnectionWatcher): () => void {
  const gone = new Set<string>();
  let lostAt = 0;
  const lost = (server: string, error: Error): void => {
    const isFirst = gone.size === 0;
    gone.add(server);
    if (!isFirst) return;
    lostAt = performance.now();
    onLost(error);
  };
  const back = (server: string): void => {
    if (gone.delete(server) && gone.size === 0) onRestored(Math.round(performance.now() - lostAt));
  };
  const unwatch = onEachServer(redis, (server) => {
    const name = nameOf(server);
    let wasReady = false;
    let last = new Error('the connection was closed');
    const onError = (error: Error): void => {
      last = error;
    };
    const onClose = (): void => {
      // A node that was never there is not missed by the cluster, and one that it has let go of is closed by us.
      if (!(redis instanceof Cluster) || (wasReady && redis.nodes().includes(server))) lost(name, last);
    };
    const onReady = (): void => {
      wasReady = true;
      back(name);
    };
    server.on('error', onError).on('close', onClose).on('ready', onReady);
    return () => server.off('error', onError).off('close', onClose).off('ready', onReady);
  });
  if (!(redis instanceof Cluster)) return unwatch;
  // Who is a node is told anew; one that is gone and no node any more has been replaced.
  const onRefresh = (): void => {
    const nodes = new Set(redis.nodes().map(nameOf));
    for (const name of gone) if (!nodes.has(name)) back(name);
  };
  // None of its nodes can be reached, maybe from the beginning.
  let last = new Error('no node can be reached');
  const onError = (error: Error): void => {
    last = error;
  };
  const onClose = (): void => lost(CLUSTER, last);
  const onReady = (): void => back(CLUSTER);
  redis.on('refresh', onRefresh).on('error', onError).on('close', onClose).on('ready', onReady);
  return () => {
    unwatch();
    redis.off('refresh', onRefresh).off('error', onError).off('close', onClose).off('ready', onReady);
  };
}

/**
 * Calls back whenever a server can be spoken to that may not be the one it was, or may have lost what it was told last:
 * after every connecting, of each node of a cluster. Returns what ends it.
 */
export function onConnected(redis: Redis, callBack: () => void): () => void {
  return onEachServer(redis, (server) => {
    server.on('ready', callBack);
    return () => server.off('ready', callBack);
  });
}

/** Attaches to the server, or to each node of a cluster that there is or will be. Returns what detaches from all. */
function onEachServer(redis: Redis, attach: (server: SingleRedis) => () => unknown): () => void {
  if (!(redis instanceof Cluster)) return attach(redis);
  const attached = new Map<SingleRedis, () => unknown>();
  const onNode = (node: SingleRedis): void => {
    if (!attached.has(node)) attached.set(node, attach(node));
  };
  const offNode = (node: SingleRedis): void => {
    attached.get(node)?.();
    attached.delete(node);
  };
  for (const node of redis.nodes()) onNode(node);
  redis.on('+node', onNode).on('-node', offNode);
  return () => {
    redis.off('+node', onNode).off('-node', offNode);
    for (const node of attached.keys()) offNode(node);
  };
}

function nameOf({ options }: SingleRedis): string {
  return `${options.host}:${options.port}`;
}
