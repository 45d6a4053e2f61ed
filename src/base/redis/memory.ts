import { type Clock, monotonicClock } from '../clock.js';
import type { Redis } from './connection.js';
import { mastersOf, refusal } from './durability.js';
import { perConnection } from './join-calls.js';
import { RedisFullError } from './unavailable.js';

/** Nothing new is stored above this share of `maxmemory`: the rest is for what campaigns still need, and for operators' commands. */
const FULL_FROM = 0.85;
/** For how long an answer of the server counts. */
const CHECK_EVERY_MS = 1_000;

/** The memory of a server, in bytes. `limit`: `maxmemory`; 0: there is none. */
export interface Memory {
  readonly used: number;
  readonly limit: number;
}

/** Reads the reply to `INFO memory`. */
export function parseMemory(info: string): Memory {
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:(\\d+)\\r?$`, 'm').exec(info)?.[1] ?? 0);
  return { used: field('used_memory'), limit: field('maxmemory') };
}

const shareOf = ({ used, limit }: Memory): number => (limit === 0 ? 0 : used / limit);

/** The memory of the server, or of the fullest master of a cluster. */
async function memoryOf(redis: Redis): Promise<Memory> {
  const nodes = await mastersOf(redis);
  const all = await Promise.all(nodes.map(async (node) => parseMemory(String(await node.info('memory')))));
  return all.sort((a, b) => shareOf(b) - shareOf(a))[0] ?? { used: 0, limit: 0 };
}

/** How a server deletes keys to make room, if it does: a policy of `maxmemory-policy` other than `noeviction`. */
export async function evictionOf(redis: Redis): Promise<string | null> {
  const nodes = await mastersOf(redis);
  const infos = await Promise.all(nodes.map((node) => node.info('memory').catch(refusal)));
  const policies = infos.flatMap((info) => /^maxmemory_policy:(\S+)/m.exec(String(info ?? ''))?.[1] ?? []);
  return policies.find((policy) => policy !== 'noeviction') ?? null;
}

const checked = perConnection((redis) => {
  let last: Promise<Memory | undefined> | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;
  return (monotonic: Clock): Promise<Memory | undefined> => {
    const now = monotonic();
    if (last !== undefined && now - checkedAt < CHECK_EVERY_MS) return last;
    checkedAt = now;
    // A server that does not answer fails the command that follows, with the reason.
    last = memoryOf(redis).catch(() => undefined);
    return last;
  };
});

/**
 * Rejects with a {@link RedisFullError} if Redis has used 85% of `maxmemory`. Call it before something new is stored: a campaign, a
 * message, a schedule. Suppressed numbers are stored as long as Redis has room at all, because nothing may be sent to them. An answer of the
 * server counts for a second by the clock `monotonic`.
 */
export async function mustHaveRoom(redis: Redis, monotonic = monotonicClock): Promise<void> {
  const memory = await checked(redis)(monotonic);
  if (memory === undefined || shareOf(memory) < FULL_FROM) return;
  const megabytes = (bytes: number): string => (bytes / 1_048_576).toFixed(bytes < 10_485_760 ? 1 : 0);
  throw new RedisFullError(
    `Redis is almost full: it uses ${megabytes(memory.used)} of ${megabytes(memory.limit)} MB (maxmemory), and above ${100 * FULL_FROM}% it takes no new campaigns, messages, and schedules. Raise maxmemory, or wait until old campaigns are removed`,
  );
}
