/** Statistics of Redis about its work and memory. */
import type { Redis } from '../../src/base/redis/connection.js';

/** Commands run since the server started, including those within scripts. */
export async function commandsRun(redis: Redis): Promise<Map<string, number>> {
  const stats = await redis.info('commandstats');
  return new Map(
    Array.from(stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm), ([, name = '', calls]) => [
      name,
      Number(calls),
    ]),
  );
}

/** The difference between two readings, without the commands that read the statistics. */
export function difference(before: Map<string, number>, after: Map<string, number>): Map<string, number> {
  const own = ['info', 'memory|usage', 'keys'];
  return new Map(
    [...after]
      .map(([name, calls]): [string, number] => [name, calls - (before.get(name) ?? 0)])
      .filter(([name, calls]) => calls > 0 && !own.includes(name))
      .sort(([, a], [, b]) => b - a),
  );
}

/** The server's CPU time, ms. */
export async function processorMs(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  return (
    1000 *
    Array.from(info.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm), ([, s]) => Number(s)).reduce(
      (a, b) => a + b,
      0,
    )
  );
}

/** Bytes of all keys with their values. (The server's total also includes buffers and caches.) */
export async function bytesOfKeys(redis: Redis): Promise<number> {
  let bytes = 0;
  for (const key of await redis.keys('*')) bytes += (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
  return bytes;
}
