import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Node } from '../../base/redis/durability.js';
import type { Keys } from '../../base/redis/keys.js';
import { REMOVALS } from '../recipients/removals.js';

/** A rewrite reads and writes all data, so there is at most one a day. */
const EVERY_MS = 86_400_000;
/** How soon it is tried again if a rewrite that may have begun before the removals is still running. */
const BUSY_MS = 600_000;

/** What the append-only file still contains of removed campaigns. */
export interface FileRemains {
  /** Campaigns removed since the last rewrite. */
  readonly removals: number;
  /** How the last attempt ended, within a day of it: `started` also means that it has succeeded. */
  readonly lastAttempt: 'none' | 'started' | 'busy' | 'refused' | 'failed';
}

/** Reads what the append-only file still contains of removed campaigns. */
export async function fileRemains(redis: Redis, keys: Keys): Promise<FileRemains> {
  const [removals, attempt] = await Promise.all([
    redis.zscore(keys.removals, REMOVALS),
    redis.get(keys.fileRewrite),
  ]);
  const lastAttempt =
    (['started', 'busy', 'refused', 'failed'] as const).find((known) => known === attempt) ?? 'none';
  return { removals: Number(removals ?? 0), lastAttempt };
}

/** A server whose rewrite is running. */
interface Rewriting {
  readonly nodes: readonly Node[];
  /** The number of removals that it covers. */
  readonly removals: number;
}

/**
 * Rewrites the append-only file after removals, so that nothing of a removed campaign is left in it: until then it contains
 * every command that wrote the campaign. One process of the fleet does so, at most once a day; the removals count as done only when
 * the rewrite has succeeded on every node. Each call of the returned function takes one step, and never waits for a rewrite.
 */
export function fileRewriter({ redis, keys, events }: FileRewriterOptions): () => Promise<void> {
  let running: Rewriting | undefined;

  const end = async (attempt: FileRemains['lastAttempt'], ttlMs: number): Promise<void> => {
    running = undefined;
    await redis.set(keys.fileRewrite, attempt, 'PX', ttlMs);
  };

  const begin = async (): Promise<void> => {
    const { removals } = await fileRemains(redis, keys);
    if (removals === 0) return;
    if ((await redis.set(keys.fileRewrite, 'started', 'PX', EVERY_MS, 'NX')) === null) return;
    const nodes = await allNodes(redis);
    try {
      const on = await Promise.all(nodes.map(async (node) => (await fileState(node)).isOn));
      const rewritten = nodes.filter((_, at) => on[at]);
      for (const node of rewritten) await node.bgrewriteaof();
      running = { nodes: rewritten, removals };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (/already in progress/.test(reason)) return end('busy', BUSY_MS);
      if (!/^(NOPERM|ERR)\b/.test(reason)) {
        await redis.del(keys.fileRewrite);
        throw error;
      }
      events.emit({ type: 'redis.rewriteRefused', reason, campaigns: removals });
      await end('refused', EVERY_MS);
    }
  };

  const look = async ({ nodes, removals }: Rewriting): Promise<void> => {
    const states = await Promise.all(nodes.map(fileState));
    if (states.some(({ isRewriting }) => isRewriting)) return;
    if (states.some(({ hasFailed }) => hasFailed)) {
      events.emit({ type: 'redis.rewriteFailed', campaigns: removals });
      return end('failed', EVERY_MS);
    }
    running = undefined;
    // Later removals have raised the score, and stay.
    await redis.zremrangebyscore(keys.removals, '-inf', removals);
    events.emit({ type: 'redis.fileRewritten', campaigns: removals });
  };

  return () => (running === undefined ? begin() : look(running));
}

interface FileRewriterOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly events: Pick<Events, 'emit'>;
}

/** The server, or all nodes of a cluster: replicas have files of their own. */
async function allNodes(redis: Redis): Promise<readonly Node[]> {
  await redis.ping();
  return 'nodes' in redis ? redis.nodes('all') : [redis];
}

async function fileState(node: Node) {
  const info = String(await node.info('persistence'));
  const has = (line: string): boolean => info.includes(`${line}\r\n`);
  return {
    isOn: !has('aof_enabled:0'),
    isRewriting: has('aof_rewrite_in_progress:1') || has('aof_rewrite_scheduled:1'),
    hasFailed: has('aof_last_bgrewrite_status:err'),
  };
}
