import { Cluster, type Redis as SingleRedis } from 'ioredis';
import type { Redis } from './connection.js';

/** The name under which a whole cluster is listed as lost. */
const CLUSTER = 'all';

/** `onLost` and `onRestored` are called when a connection breaks and is restored; `downMs` is how long it was down. */
interface ConnectionWatcher {
  onLost(error: Error): void;
  onRestored(downMs: number): void;
}

/** Reports several connections as one: lost with the first of them, restored with the last. */
export function asOne({ onLost, onRestored }: ConnectionWatcher): ConnectionWatcher {
  let lost = 0;
  let lostAt = 0;
  return {
    onLost(error) {
      lost += 1;
      if (lost > 1) return;
      lostAt = performance.now();
      onLost(error);
    },
    onRestored() {
      lost -= 1;
      if (lost === 0) onRestored(Math.round(performance.now() - lostAt));
    },
  };
}

/**
 * Watches a connection and reports each break once, however often reconnecting fails; a server that cannot be reached from the
 * start counts as a break. A cluster's connection is broken from the loss of a node until every lost node is back or has been
 * replaced. Returns a function that stops watching.
 */
export function watchConnection(redis: Redis, { onLost, onRestored }: ConnectionWatcher): () => void {
  const lostServers = new Set<string>();
  let lostAt = 0;
  const lost = (server: string, error: Error): void => {
    const isFirst = lostServers.size === 0;
    lostServers.add(server);
    if (!isFirst) return;
    lostAt = performance.now();
    onLost(error);
  };
  const restored = (server: string): void => {
    if (lostServers.delete(server) && lostServers.size === 0)
      onRestored(Math.round(performance.now() - lostAt));
  };
  const unwatch = onEachServer(redis, (server) => {
    const name = nameOf(server);
    let wasReady = false;
    let last = new Error('the connection was closed');
    const onError = (error: Error): void => {
      last = error;
    };
    const onClose = (): void => {
      // Ignores a node that was never connected, and one that the cluster client itself has removed.
      if (!(redis instanceof Cluster) || (wasReady && redis.nodes().includes(server))) lost(name, last);
    };
    const onReady = (): void => {
      wasReady = true;
      restored(name);
    };
    server.on('error', onError).on('close', onClose).on('ready', onReady);
    return () => server.off('error', onError).off('close', onClose).off('ready', onReady);
  });
  if (!(redis instanceof Cluster)) return unwatch;
  // The list of nodes was refreshed: a lost node that is no longer in it has been replaced.
  const onRefresh = (): void => {
    const nodes = new Set(redis.nodes().map(nameOf));
    for (const name of lostServers) if (!nodes.has(name)) restored(name);
  };
  // No node can be reached, perhaps from the start.
  let last = new Error('no node can be reached');
  const onError = (error: Error): void => {
    last = error;
  };
  const onClose = (): void => lost(CLUSTER, last);
  const onReady = (): void => restored(CLUSTER);
  redis.on('refresh', onRefresh).on('error', onError).on('close', onClose).on('ready', onReady);
  return () => {
    unwatch();
    redis.off('refresh', onRefresh).off('error', onError).off('close', onClose).off('ready', onReady);
  };
}

/**
 * Calls back after every connect, for each node of a cluster: the server may have been replaced, or may have lost its last
 * writes. Returns a function that stops it.
 */
export function onConnected(redis: Redis, callback: () => void): () => void {
  return onEachServer(redis, (server) => {
    server.on('ready', callback);
    return () => server.off('ready', callback);
  });
}

/** Attaches to the server, or to each present and future node of a cluster. Returns a function that detaches from all. */
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
