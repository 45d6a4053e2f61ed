import type { Clock } from '../clock.js';
import { formatDuration } from '../duration.js';
import type { Redis } from '../redis/connection.js';
import { type Check, fail, ok, warn } from './doctor-check.js';

/** Redis 6.2: what BullMQ asks for. */
const LEAST_VERSION = [6, 2] as const;
/** Clocks of machines that keep time differ by less. */
const MOST_SKEW_MS = 1_000;
const MEMORY_NEARLY_FULL = 0.8;

/** What a Redis says of itself, as far as Volley depends on it. */
export interface RedisFacts {
  /** Of a cluster, which of its nodes it is. */
  readonly node?: string;
  readonly version: string;
  /** Undefined where the server does not tell. */
  readonly appendonly: string | undefined;
  readonly appendfsync: string | undefined;
  readonly eviction: string | undefined;
  readonly usedMemory: number;
  /** 0: no limit. */
  readonly maxMemory: number;
  /** Its clock ahead of ours. */
  readonly skewMs: number;
}

/** Asks it, or each master of a cluster. */
export async function redisFacts(connection: Redis, clock: Clock): Promise<RedisFacts[]> {
  if (!('nodes' in connection)) return [await factsOf(connection, clock)];
  // Who its nodes are it tells when it is first asked for something.
  await connection.ping();
  return Promise.all(
    connection.nodes('master').map(async (node) => ({
      ...(await factsOf(node, clock)),
      node: `${node.options.host}:${node.options.port}`,
    })),
  );
}

async function factsOf(redis: Exclude<Redis, { nodes: unknown }>, clock: Clock): Promise<RedisFacts> {
  const before = clock();
  const [seconds, micros] = await redis.time();
  const after = clock();
  const info = String(await redis.info());
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const setting = async (name: string): Promise<string | undefined> => {
    // Providers of Redis often forbid CONFIG.
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
    skewMs: Math.round(Number(seconds) * 1_000 + Number(micros) / 1_000 - (before + after) / 2),
  };
}

/** What there is to say about it, and to do; of a cluster, what is worst of its nodes. */
export function judgeRedis(nodes: readonly RedisFacts[]): Check[] {
  return JUDGES.map((judge) => {
    const checks = nodes.map((facts) => {
      const check = judge(facts);
      return check.level === 'ok' || facts.node === undefined
        ? check
        : { ...check, found: `${facts.node}: ${check.found}` };
    });
    return (
      checks.find(({ level }) => level === 'fail') ??
      checks.find(({ level }) => level === 'warn') ??
      checks[0] ??
      fail('Redis', 'no node answers', 'See that the cluster runs.')
    );
  });
}

const JUDGES = [version, appendOnly, fsync, eviction, memory, clockOf];

function version({ version: found }: RedisFacts): Check {
  const [major = 0, minor = 0] = found.split('.').map(Number);
  const isEnough = major > LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor >= LEAST_VERSION[1]);
  return isEnough
    ? ok('Redis version', found)
    : fail('Redis version', found || 'not told', `Upgrade to ${LEAST_VERSION.join('.')} or later.`);
}

function appendOnly({ appendonly: found }: RedisFacts): Check {
  const name = 'Redis append-only file';
  if (found === 'yes') return ok(name, 'on');
  if (found === undefined)
    return warn(name, 'the server does not tell', 'Ask who runs it: it must be on (appendonly yes).');
  return warn(
    name,
    'off: a restart forgets campaigns, and that texts were sent',
    'Set appendonly yes (and CONFIG REWRITE).',
  );
}

function fsync({ appendonly, appendfsync: found }: RedisFacts): Check {
  const name = 'Redis fsync';
  if (found === 'always' && appendonly !== 'no') return ok(name, 'always: what was answered is on disk');
  if (found === undefined)
    return warn(name, 'the server does not tell', 'Ask who runs it: appendfsync always loses nothing.');
  if (appendonly === 'no')
    return warn(name, 'nothing is written', 'Set appendonly yes and appendfsync always.');
  const lost = found === 'everysec' ? 'the last second' : 'what the system had not written yet';
  return warn(
    name,
    `${found}: a power cut may lose ${lost}; what no worker remembers of it then waits as unknown`,
    'Set appendfsync always.',
  );
}

function eviction({ eviction: found }: RedisFacts): Check {
  const name = 'Redis eviction';
  if (found === 'noeviction') return ok(name, found);
  if (found === undefined)
    return warn(name, 'the server does not tell', 'Ask who runs it: it must be noeviction.');
  return fail(
    name,
    `${found}: a full server drops keys, and texts may be sent twice`,
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
    : warn(name, found, 'Raise maxmemory: a full server takes no campaign and settles nothing.');
}

function clockOf({ skewMs }: RedisFacts): Check {
  return skewCheck('clock of Redis', skewMs, MOST_SKEW_MS);
}

/** How far another clock is ahead of this machine's. */
export function skewCheck(name: string, skewMs: number, most: number): Check {
  const size = formatDuration(Math.abs(skewMs));
  if (Math.abs(skewMs) <= most) return ok(name, `within ${size} of this machine's`);
  return warn(
    name,
    `${size} ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's`,
    'Let both keep time by NTP: times of sending and windows of quotas go by them.',
  );
}
