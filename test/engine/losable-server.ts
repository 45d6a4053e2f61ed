import type { Redis } from '../../src/base/redis/connection.js';
import { keysOf } from '../base/redis/test-redis.js';

/** The keys with this prefix as a server that may lose all writes after `backUp`, as a failover does. */
export function losableServer(redis: Redis, prefix: string) {
  const backup = new Map<string, Buffer>();
  return {
    /** The server has written everything until now. `of`: these keys alone. */
    async backUp(of?: readonly string[]): Promise<void> {
      backup.clear();
      for (const key of of ?? (await keysOf(redis, prefix))) {
        const dump = await redis.dumpBuffer(key);
        if (dump !== null) backup.set(key, dump);
      }
    },
    /** Loses everything since then. `of`: these keys alone. */
    async lose(of?: readonly string[]): Promise<void> {
      for (const key of of ?? (await keysOf(redis, prefix))) await redis.del(key);
      for (const [key, dump] of backup) await redis.restore(key, 0, dump);
    },
  };
}
