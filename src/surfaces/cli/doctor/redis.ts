import { type Clock, within } from '../../../base/clock.js';
import { formatDuration } from '../../../base/duration.js';
import type { Redis } from '../../../base/redis/connection.js';
import {
  assessLoss,
  assessStated,
  BOUND_THE_LOSS,
  type DurabilityFacts,
  durabilityFacts,
  type Node,
} from '../../../base/redis/durability.js';
import type { FileRemains } from '../../../engine/recovery/rewrite-file.js';
import { counted } from '../text.js';
import { type Check, fail, ok, warn } from './check.js';

/** BullMQ needs Redis 6.2. */
const MIN_VERSION = [6, 2] as const;
/** Clocks synchronised by NTP differ by less. */
const MAX_SKEW_MS = 1_000;
const MEMORY_NEARLY_FULL = 0.8;
const ANSWERS_WITHIN_MS = 2_000;

/** The facts about a Redis server that Volley depends on. */
interface RedisFacts {
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
  const own = /^.*\bmyself\b.*$/m.exec(list)?.[0] ?? '';
  return [...own.matchAll(/\[(\d+)-[<>]-/g)].map(([, slot = '']) => slot);
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

/** Checks the facts. For a cluster, each check shows its worst node. `mayLoseMs`: the setting REDIS_MAY_LOSE. */
export function checkRedis(nodes: readonly RedisFacts[], mayLoseMs: number | 'auto'): Check[] {
  const failover = (facts: RedisFacts): Check => checkFailover(facts, mayLoseMs);
  const sync = (facts: RedisFacts): Check => fsync(facts, mayLoseMs);
  return [version, appendOnly, sync, failover, defaultUser, eviction, memory, clockSkew, reshard].map(
    (check) => {
      const results = nodes.map((facts) => {
        const result = check(facts);
        return result.level === 'ok' || facts.node === undefined
          ? result
          : { ...result, found: `${facts.node}: ${result.found}` };
      });
      return (
        results.find(({ level }) => level === 'fail') ??
        results.find(({ level }) => level === 'warn') ??
        results[0] ??
        fail('Redis', 'no node answers', 'Check that the cluster is running.')
      );
    },
  );
}

function version({ version: found }: RedisFacts): Check {
  const [major = 0, minor = 0] = found.split('.').map(Number);
  const isEnough = major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
  return isEnough
    ? ok('Redis version', found)
    : fail('Redis version', found || 'not reported', `Upgrade to ${MIN_VERSION.join('.')} or later.`);
}

function appendOnly({ appendonly: found }: RedisFacts): Check {
  const name = 'Redis append-only file';
  if (found === 'yes') return ok(name, 'on');
  if (found === undefined)
    return warn(name, 'not reported by the server', 'Ask its provider. It must be on (appendonly yes).');
  return warn(
    name,
    'off: after a restart, Redis has lost campaigns and the record of sent messages',
    'Set appendonly yes, and run CONFIG REWRITE.',
  );
}

function fsync({ appendonly, appendfsync: found }: RedisFacts, setting: number | 'auto'): Check {
  const name = 'Redis fsync';
  if (found === 'always' && appendonly !== 'no')
    return ok(name, 'always: everything that Redis confirmed is on disk');
  if (found === undefined && setting !== 'auto')
    return ok(name, `not reported by the server; REDIS_MAY_LOSE (${formatDuration(setting)}) covers it`);
  if (found === undefined)
    return warn(
      name,
      'not reported by the server',
      'Ask its provider. Only appendfsync always loses nothing.',
    );
  if (appendonly === 'no')
    return warn(name, 'nothing is written to disk', 'Set appendonly yes and appendfsync always.');
  const lost = found === 'everysec' ? 'the last second' : 'what the system had not yet written';
  return warn(
    name,
    `${found}: a power cut may lose ${lost}; requests that no surviving worker can replay get an unknown outcome`,
    'Set appendfsync always.',
  );
}

/** Whether something bounds what a failover to a replica may lose. */
function checkFailover({ durability: facts }: RedisFacts, setting: number | 'auto'): Check {
  const name = 'Redis failover';
  const waits = 'a process, a campaign, and a resume wait for this long before their first message';
  if (setting !== 'auto') {
    const stated = assessStated(facts, setting);
    if (!Number.isFinite(stated.ms))
      return fail(
        name,
        `${stated.why}; workers do not send, because messages could be sent twice`,
        BOUND_THE_LOSS,
      );
    // Without CONFIG, only the setting is known.
    const { ms, why } = facts.minReplicas === undefined ? stated : assessLoss(facts);
    if (ms <= setting) return ok(name, `REDIS_MAY_LOSE is ${formatDuration(setting)}: ${waits}`);
    const actual = Number.isFinite(ms) ? `it may lose ${formatDuration(ms)} (${why})` : why;
    return warn(name, `REDIS_MAY_LOSE is ${formatDuration(setting)}, but ${actual}`, BOUND_THE_LOSS);
  }
  const { ms, why } = assessLoss(facts);
  if (!Number.isFinite(ms))
    return fail(name, `${why}; workers do not start, because messages could be sent twice`, BOUND_THE_LOSS);
  const { isCluster, replicas = 0, minReplicas = 0 } = facts;
  if (!isCluster && minReplicas > 0 && replicas > minReplicas)
    return warn(
      name,
      `${replicas} replicas, and min-replicas-to-write is ${minReplicas}: a master that is cut off together with ${minReplicas} of them accepts writes without end`,
      `Set min-replicas-to-write ${replicas}, or see that such a master cannot be cut off from the others.`,
    );
  if (ms === 0) return ok(name, 'no replica: nothing is lost');
  return ok(name, `may lose the last ${formatDuration(ms)} (${why}); ${waits}`);
}

/** What is left of removed campaigns in the append-only file. */
export function checkRemains(
  nodes: readonly Pick<RedisFacts, 'appendonly' | 'node' | 'durability'>[],
  { removals, lastAttempt }: FileRemains,
): Check {
  const name = 'Redis removed data';
  if (nodes.every(({ appendonly: found }) => found === 'no')) return ok(name, 'there is no append-only file');
  const replicas = nodes.reduce(
    (sum, { node, durability }) => sum + (node === undefined ? (durability.replicas ?? 0) : 0),
    0,
  );
  const others =
    replicas === 0
      ? ''
      : `; Volley cannot rewrite the files of its ${counted(replicas, 'replica')}: run BGREWRITEAOF there once a day`;
  if (removals === 0)
    return ok(name, `nothing of a removed campaign is left in the append-only file${others}`);
  const left = `the append-only file still contains the numbers and texts of ${counted(removals, 'removed campaign')}`;
  if (lastAttempt === 'refused')
    return warn(
      name,
      `${left}, because the server refuses BGREWRITEAOF`,
      'Allow it (+bgrewriteaof in the ACL), or ask the provider when the server rewrites its file, and how long backups are kept.',
    );
  if (lastAttempt === 'failed')
    return warn(
      name,
      `${left}, because the last rewrite failed`,
      'See the log of Redis. A rewrite needs free memory and disk space.',
    );
  return ok(name, `${left} until the next rewrite, within a day while a worker runs${others}`);
}

function defaultUser({ isOpen, hasPassword }: RedisFacts): Check {
  const name = 'Redis default user';
  if (!isOpen) return ok(name, 'needs a password, or is off');
  const found = 'it needs no password: everyone who can reach Redis can read and change everything';
  const todo = 'Use docs/redis.acl, which turns it off, or set requirepass.';
  // Where Volley uses a password, someone relies on it.
  return hasPassword ? fail(name, found, todo) : warn(name, found, todo);
}

function eviction({ eviction: found }: RedisFacts): Check {
  const name = 'Redis eviction';
  if (found === 'noeviction') return ok(name, found);
  if (found === undefined)
    return warn(name, 'not reported by the server', 'Ask its provider. It must be noeviction.');
  return fail(
    name,
    `${found}: a full server deletes keys, and messages may be sent twice`,
    'Set maxmemory-policy noeviction.',
  );
}

function memory({ usedMemory, maxMemory }: RedisFacts): Check {
  const name = 'Redis memory';
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MB`;
  if (maxMemory === 0) return ok(name, `${megabytes(usedMemory)} used, no limit`);
  const found = `${megabytes(usedMemory)} of ${megabytes(maxMemory)} used`;
  return usedMemory / maxMemory < MEMORY_NEARLY_FULL
    ? ok(name, found)
    : warn(name, found, 'Raise maxmemory: above 85 %, Redis takes no new campaigns and messages.');
}

function clockSkew({ skewMs }: RedisFacts): Check {
  return skewCheck('clock of Redis', skewMs, MAX_SKEW_MS);
}

function reshard({ movingSlots }: RedisFacts): Check {
  const name = 'Redis reshard';
  const [slot = ''] = movingSlots;
  if (movingSlots.length === 0) return ok(name, 'none is running');
  return warn(
    name,
    `slot ${slot}${movingSlots.length > 1 ? ` and ${movingSlots.length - 1} more` : ''} is on its way to another node`,
    'If no reshard is running, finish it: redis-cli --cluster fix. Until then, the lanes in this slot send nothing.',
  );
}

/** Checks how far another clock is ahead of this machine's. */
export function skewCheck(name: string, skewMs: number, maxMs: number): Check {
  const size = formatDuration(Math.abs(skewMs));
  if (Math.abs(skewMs) <= maxMs) return ok(name, `within ${size} of this machine's`);
  return warn(
    name,
    `${size} ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's`,
    'Synchronise both clocks with NTP: start times and quota windows depend on them.',
  );
}
