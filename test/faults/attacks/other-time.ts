import { obtainServer } from '../../../src/base/redis/find-server.js';
import { startPrivateRedis } from '../../../src/base/redis/private-server.js';
import { settableClock } from '../../base/redis/servers/settable-clock.js';
import type { KillableRedis } from './attack.js';

/** Another time than that of this machine. */
export interface OtherTime {
  /** A Redis in this time. */
  readonly redis: KillableRedis;
  /** Programs that start with this environment live in this time. */
  readonly environment: Readonly<Record<string, string>>;
  /** Brings this process back to the time of the machine, and ends the Redis. */
  close(): Promise<void>;
}

/**
 * Moves this process to another time, from which it goes on at the usual speed. Timers keep working: only the wall clock is another. Throws
 * an Error that says what is missing on this machine.
 */
export async function otherTime(beginsAt: number): Promise<OtherTime> {
  const server = await obtainServer();
  const clock = await settableClock();
  const machine = Date.now;
  const ahead = Math.round((beginsAt - machine()) / 1_000);
  await clock.set(ahead);
  const redis = await startPrivateRedis({ appendfsync: 'always', program: await clock.wrapped(server) });
  Date.now = () => machine() + 1_000 * ahead;
  return {
    redis,
    environment: clock.environment,
    async close() {
      Date.now = machine;
      await redis.stop();
      await clock.remove();
    },
  };
}
