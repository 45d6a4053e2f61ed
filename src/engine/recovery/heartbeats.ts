import { hostname } from 'node:os';
import { z } from 'zod';
import type { Clock } from '../../base/clock.js';
import { jsonOrUndefined } from '../../base/json.js';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { ROLES, type Role } from './roles.js';

export { ROLES, type Role } from './roles.js';

/**
 * The format of the data that this version stores. Increase it if an earlier version cannot read what this one writes, or this one what an
 * earlier version has written (data-format.ts).
 */
export const DATA_FORMAT = 18;

/** A worker process with a recent heartbeat. */
export interface WorkerProcess {
  readonly id: string;
  readonly roles: readonly Role[];
  /** ISO 8601. */
  readonly since: string;
  readonly host: string;
  readonly pid: number;
  /** The settings that all workers must share, by name, for display. */
  readonly settings: Readonly<Record<string, string>>;
  /** The names of lanes that it cannot serve, because their credentials are not in its environment. */
  readonly lacks: readonly string[];
  /** See {@link DATA_FORMAT}. */
  readonly format: number;
}

const HEARTBEAT_MS = 3_000;
const DEAD_AFTER_MS = 10_000;
/** A heartbeat this far ahead of the clock is from before the clock was set back. */
const AHEAD_MS = 1_000;
/**
 * Every version reads what it understands of another's entry. Only the id must stay: with it, a lane knows that the process is alive.
 */
const shape = z.object({
  id: z.string(),
  roles: z
    .array(z.string())
    .catch([])
    .transform((roles) => ROLES.filter((role) => roles.includes(role))),
  since: z.string().catch(''),
  host: z.string().catch(''),
  pid: z.number().catch(0),
  settings: z
    .record(z.string(), z.unknown())
    .catch({})
    .transform((all) => Object.fromEntries(Object.entries(all).filter(isText))),
  lacks: z.array(z.string()).catch([]),
  format: z.number().catch(1),
});
const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string';

/**
 * The heartbeats of worker processes. With them, commands can warn that no worker is running, and lanes can forget dead workers.
 * Jobs and claims do not need them. They use the clock of Redis, because those of machines differ.
 */
export function heartbeats(redis: Redis, keys: Keys, clock: Clock) {
  // By the clock of Redis: the last heartbeat of this process, 0 without one; since when Redis was away, and until when that counts.
  let [beatAt, awayFrom, countsUntil] = [0, 0, 0];
  const noticeOutage = (now: number): void => {
    if (beatAt > 0 && now - beatAt > 2 * HEARTBEAT_MS)
      [awayFrom, countsUntil] = [beatAt, now + DEAD_AFTER_MS];
  };
  return {
    /** A unique name for this process. */
    name: (): string => `${hostname()}-${process.pid}-${clock().toString(36)}`,
    /** Starts the heartbeat of this process. The returned function stops it. */
    start(
      id: string,
      roles: readonly Role[],
      { settings, lacks }: Pick<WorkerProcess, 'settings' | 'lacks'>,
    ): () => Promise<void> {
      const me = JSON.stringify({
        id,
        roles,
        since: new Date(clock()).toISOString(),
        host: hostname(),
        pid: process.pid,
        settings,
        lacks,
        format: DATA_FORMAT,
      });
      const beat = (): void => {
        serverTime(redis)
          .then((now) => {
            noticeOutage(now);
            beatAt = now;
            return redis.zadd(keys.workers, now, me);
          })
          // If someone has emptied Redis, what is stored from now on has this format.
          .then(() => redis.set(keys.format, DATA_FORMAT, 'NX'))
          .catch(() => {});
      };
      beat();
      const timer = setInterval(beat, HEARTBEAT_MS);
      return async () => {
        clearInterval(timer);
        beatAt = 0;
        await redis.zrem(keys.workers, me).catch(() => {});
      };
    },
    /**
     * The processes whose last heartbeat is at most 10 s old; for 10 s after Redis was away, also those that were alive when it went, because
     * not all of them reach it again at once. Entries without an id are ignored.
     */
    async alive(): Promise<WorkerProcess[]> {
      const now = await serverTime(redis);
      noticeOutage(now);
      const since = Math.min(now, now < countsUntil ? awayFrom : now) - DEAD_AFTER_MS;
      await redis.zremrangebyscore(keys.workers, '-inf', since - DEAD_AFTER_MS);
      const members = await redis.zrangebyscore(keys.workers, since, '+inf');
      // A dead process would count as alive until the clock has caught up.
      const ahead = await redis.zrangebyscore(keys.workers, now + AHEAD_MS, '+inf');
      if (ahead.length > 0) await redis.zadd(keys.workers, 'XX', ...ahead.flatMap((member) => [now, member]));
      return members.flatMap((member) => shape.safeParse(jsonOrUndefined(member)).data ?? []);
    },
  };
}

/** See {@link heartbeats}. */
export type Heartbeats = ReturnType<typeof heartbeats>;
