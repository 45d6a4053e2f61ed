import { hostname } from 'node:os';
import { z } from 'zod';
import type { Clock } from '../clock.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { serverTime } from '../redis/server-time.js';
import type { Role } from './roles.js';

export { ROLES, type Role } from './roles.js';

/** A worker process that has given a sign of life lately. */
export interface WorkerProcess {
  readonly id: string;
  readonly roles: readonly Role[];
  /** ISO 8601. */
  readonly since: string;
  readonly host: string;
  readonly pid: number;
  /** What all of them should have alike, by name, in words; empty where it is of a version that did not tell. */
  readonly settings: Readonly<Record<string, string>>;
}

const SIGN_OF_LIFE_MS = 3_000;
const DEAD_AFTER_MS = 10_000;
const shape = z.object({
  id: z.string(),
  roles: z.array(z.enum(['send', 'follow-up'])),
  since: z.string(),
  host: z.string(),
  pid: z.number(),
  settings: z.record(z.string(), z.string()).default({}),
});

/**
 * Who works here, so that a command can say when nobody does, and so that a lane's crew lets go of the dead. Jobs and
 * claims do without it. Signs of life go by the server's clock: those of machines differ.
 */
export function heartbeats(redis: Redis, keys: Keys, clock: Clock) {
  return {
    /** A name for this process that no other has. */
    name: (): string => `${hostname()}-${process.pid}-${clock().toString(36)}`,
    /** Enters this process and keeps it in the list until what it returns is called. */
    enter(id: string, roles: readonly Role[], settings: WorkerProcess['settings']): () => Promise<void> {
      const me = JSON.stringify({
        id,
        roles,
        since: new Date(clock()).toISOString(),
        host: hostname(),
        pid: process.pid,
        settings,
      });
      const sign = (): void => {
        serverTime(redis)
          .then((now) => redis.zadd(keys.workers, now, me))
          .catch(() => {});
      };
      sign();
      const timer = setInterval(sign, SIGN_OF_LIFE_MS);
      return async () => {
        clearInterval(timer);
        await redis.zrem(keys.workers, me).catch(() => {});
      };
    },
    async alive(): Promise<WorkerProcess[]> {
      const since = (await serverTime(redis)) - DEAD_AFTER_MS;
      await redis.zremrangebyscore(keys.workers, '-inf', since - DEAD_AFTER_MS);
      const members = await redis.zrangebyscore(keys.workers, since, '+inf');
      return members.map((member) => shape.parse(JSON.parse(member)));
    },
  };
}

/** See {@link heartbeats}. */
export type Heartbeats = ReturnType<typeof heartbeats>;
