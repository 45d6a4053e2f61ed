import type { Redis } from './connection.js';
import { MAX_LOSS_MS, type MayLose } from './may-lose.js';
import { untilAnswered } from './until-answered.js';
import { onConnected } from './watch.js';

/** A server that syncs its file once a second may lose up to two seconds. */
const FILE_MS = 2_000;
/** A server counts the age of a replica in seconds, once a second, and its last writes take a moment to reach the replica. */
const MARGIN_MS = 5_000;
/** A node of a cluster pings each other node every half timeout, so it may take 1.5 timeouts to notice that it is cut off. */
const CLUSTER_TIMEOUTS = 1.5;
const CHECK_EVERY_MS = 30_000;
/** Until the first check has succeeded. */
const RETRY_MS = 1_000;

/** What the data loss of a server depends on. Undefined: the server does not reveal it. */
export interface DurabilityFacts {
  readonly appendonly: string | undefined;
  readonly appendfsync: string | undefined;
  readonly replicas: number | undefined;
  readonly minReplicas: number | undefined;
  readonly maxLagSeconds: number | undefined;
  readonly isCluster: boolean;
  readonly nodeTimeoutMs: number | undefined;
  /** Sentinel watches the server, so it has a replica even if that is not connected now. */
  readonly isWatched: boolean;
}

/** What a server may lose; `why`: what bounds it, or why nothing does. */
export interface LossAssessment extends MayLose {
  readonly why: string;
}

/**
 * How much a server may lose. Its file loses nothing, or the last two seconds. A failover to a replica loses what a cut-off
 * master accepts until it refuses writes: a node of a cluster does so when it cannot reach most of the others, and another
 * server if it needs a replica (`min-replicas-to-write`) and has not heard of one for `min-replicas-max-lag`. Pure.
 */
export function assessLoss(facts: DurabilityFacts): LossAssessment {
  const { replicas, minReplicas, maxLagSeconds = 0, nodeTimeoutMs } = facts;
  const fileMs = facts.appendonly === 'yes' && facts.appendfsync === 'always' ? 0 : FILE_MS;
  if (
    replicas === undefined ||
    minReplicas === undefined ||
    (facts.isCluster && nodeTimeoutMs === undefined)
  ) {
    const why =
      'the server does not reveal its settings (INFO replication, CONFIG GET), so a replica cannot be ruled out, and nothing tells how long a master that is cut off accepts writes';
    return { ms: Number.POSITIVE_INFINITY, withReplicaMs: Number.POSITIVE_INFINITY, why };
  }
  const fenced = facts.isCluster
    ? { ms: CLUSTER_TIMEOUTS * (nodeTimeoutMs ?? 0) + MARGIN_MS, name: 'cluster-node-timeout' }
    : minReplicas > 0 && maxLagSeconds > 0
      ? { ms: 1_000 * maxLagSeconds + MARGIN_MS, name: 'min-replicas-max-lag' }
      : undefined;
  const hasReplica = replicas > 0 || facts.isWatched || (fenced !== undefined && !facts.isCluster);
  if (fenced === undefined || fenced.ms > MAX_LOSS_MS) {
    const unbounded =
      fenced === undefined
        ? 'min-replicas-to-write is 0, so a master that is cut off from its replica never stops accepting writes'
        : `${fenced.name} lets a master that is cut off accept writes for longer than 1m`;
    return {
      ms: hasReplica ? Number.POSITIVE_INFINITY : fileMs,
      withReplicaMs: Number.POSITIVE_INFINITY,
      why: hasReplica ? unbounded : 'no replica',
    };
  }
  const withReplicaMs = Math.max(fileMs, fenced.ms);
  return {
    ms: hasReplica ? withReplicaMs : fileMs,
    withReplicaMs,
    why: hasReplica ? fenced.name : 'no replica',
  };
}

/** What to do if nothing bounds the loss. */
export const BOUND_THE_LOSS =
  'Set min-replicas-to-write 1 and min-replicas-max-lag 10 in Redis, or set REDIS_MAY_LOSE to the longest time for which a master that is cut off accepts writes.';

/** Watches how much acknowledged data the server may lose. */
export interface Durability {
  readonly mayLose: MayLose;
  /** Resolves after the first check with why nothing bounds the loss; with undefined if something does, or no server answered. */
  readonly unbounded: Promise<string | undefined>;
  stop(): void;
}

/**
 * What a server may lose according to REDIS_MAY_LOSE. A value that only a file can keep, up to 2 s, says nothing about a failover: with a
 * replica, nothing bounds the loss. A longer one holds with and without a replica. Pure.
 */
export function assessStated(
  facts: Pick<DurabilityFacts, 'replicas' | 'isWatched'>,
  lossMs: number,
): LossAssessment {
  if (lossMs > FILE_MS) return { ms: lossMs, withReplicaMs: lossMs, why: 'REDIS_MAY_LOSE' };
  const withReplicaMs = Number.POSITIVE_INFINITY;
  if (facts.replicas === undefined)
    return {
      ms: withReplicaMs,
      withReplicaMs,
      why: 'the server does not reveal whether it has a replica (INFO replication)',
    };
  if (facts.replicas > 0 || facts.isWatched)
    return { ms: withReplicaMs, withReplicaMs, why: STATED_WITHOUT_REPLICA };
  return { ms: lossMs, withReplicaMs, why: 'no replica' };
}

const STATED_WITHOUT_REPLICA =
  'REDIS_MAY_LOSE is at most 2s, which holds only without a replica, and the server has one';

/**
 * The value of REDIS_MAY_LOSE. The settings of the server are not read, which needs rights that few users have. Each claim looks for a
 * replica (workers.lua), and so does the start.
 */
export function statedDurability(redis: Redis, lossMs: number): Durability {
  const withReplicaMs = lossMs > FILE_MS ? lossMs : Number.POSITIVE_INFINITY;
  const check = async (): Promise<string | undefined> => {
    const losses = await Promise.all(
      (await mastersOf(redis)).map(async (node) => {
        const replicas = replicasIn(String(await node.info('replication').catch(refusal)));
        return assessStated({ replicas, isWatched: isWatched(node) }, lossMs);
      }),
    );
    return losses.find(({ ms }) => ms === Number.POSITIVE_INFINITY)?.why;
  };
  const unbounded = untilAnswered(check, { tries: 1 }).catch(() => undefined);
  return { mayLose: { ms: lossMs, withReplicaMs }, unbounded, stop: () => {} };
}

const replicasIn = (replication: string): number | undefined => {
  const text = /^connected_slaves:(\d+)\r?$/m.exec(replication)?.[1];
  return text === undefined ? undefined : Number(text);
};

const isWatched = (node: Node): boolean => (node.options.sentinels?.length ?? 0) > 0;

/**
 * Checks the server's settings every 30 s, and on each new connection. Until they are known, nothing bounds the loss. If a check
 * fails later, the last result holds. Of a cluster, the node that may lose most counts.
 */
export function watchDurability(redis: Redis): Durability {
  let found: LossAssessment | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const check = async (): Promise<void> => {
    const nodes = await Promise.all(
      (await mastersOf(redis)).map((node) => durabilityFacts(node).catch(() => undefined)),
    );
    const losses = nodes.filter((facts) => facts !== undefined).map(assessLoss);
    // A node that does not answer may lose as much as before.
    if (nodes.includes(undefined) && found !== undefined) losses.push(found);
    found = greatest(losses) ?? found;
  };
  const checkAgain = async (): Promise<void> => {
    clearTimeout(timer);
    await untilAnswered(check, { tries: 1 }).catch(() => {});
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(checkAgain, found === undefined ? RETRY_MS : CHECK_EVERY_MS).unref();
  };
  const unwatch = onConnected(redis, () => void checkAgain());
  const unbounded = checkAgain().then(() => (found?.ms === Number.POSITIVE_INFINITY ? found.why : undefined));
  return {
    get mayLose() {
      return found ?? { ms: Number.POSITIVE_INFINITY, withReplicaMs: Number.POSITIVE_INFINITY };
    },
    unbounded,
    stop() {
      isStopped = true;
      clearTimeout(timer);
      unwatch();
    },
  };
}

/** The most that any of these servers may lose, now and with a replica; undefined if there are none. */
function greatest(losses: readonly LossAssessment[]): LossAssessment | undefined {
  const [worst] = [...losses].sort((one, other) => (one.ms < other.ms ? 1 : -1));
  if (worst === undefined) return undefined;
  return { ...worst, withReplicaMs: Math.max(...losses.map(({ withReplicaMs }) => withReplicaMs)) };
}

/** A server, or a node of a cluster. */
export type Node = Exclude<Redis, { nodes: unknown }>;

/** The server, or the masters of a cluster. */
export async function mastersOf(redis: Redis): Promise<readonly Node[]> {
  // A cluster client knows its nodes only once it is connected.
  await redis.ping();
  return 'nodes' in redis ? redis.nodes('master') : [redis];
}

/** Reads the facts. Rejects if the server does not answer. */
export async function durabilityFacts(node: Node): Promise<DurabilityFacts> {
  const settings = new Map<string, string>();
  const read = async (pattern: string): Promise<void> => {
    // Providers of Redis often forbid CONFIG.
    const reply: unknown = await node.config('GET', pattern).catch(refusal);
    const list = Array.isArray(reply) ? reply.map(String) : [];
    for (let at = 0; at + 1 < list.length; at += 2) settings.set(list[at] ?? '', list[at + 1] ?? '');
  };
  const section = async (name: string): Promise<string> => String(await node.info(name).catch(refusal));
  const [replication, cluster] = await Promise.all([
    section('replication'),
    section('cluster'),
    read('append*'),
    read('min-replicas-*'),
    read('cluster-node-timeout'),
  ]);
  const numberOf = (text: string | undefined): number | undefined =>
    text === undefined || text === '' ? undefined : Number(text);
  return {
    appendonly: settings.get('appendonly'),
    appendfsync: settings.get('appendfsync'),
    replicas: replicasIn(replication),
    minReplicas: numberOf(settings.get('min-replicas-to-write')),
    maxLagSeconds: numberOf(settings.get('min-replicas-max-lag')),
    isCluster: /^cluster_enabled:1\r?$/m.test(cluster),
    nodeTimeoutMs: numberOf(settings.get('cluster-node-timeout')),
    isWatched: isWatched(node),
  };
}

/** A server that refuses a command reveals nothing. Any other failure is rethrown: the server did not answer. */
export function refusal(error: unknown): undefined {
  if (error instanceof Error && /^(NOPERM|ERR)\b/.test(error.message)) return undefined;
  throw error;
}
