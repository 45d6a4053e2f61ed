/** What Redis itself tells of its work and its memory. */
import type { Redis } from '../../src/redis/connection.js';

/** Commands run since the server started, each call within a script counted like one from outside. */
export async function commandsRun(redis: Redis): Promise<Map<string, number>> {
  const stats = await redis.info('commandstats');
  return new Map(
    Array.from(stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm), ([, name = '', calls]) => [
      name,
      Number(calls),
    ]),
  );
}

/** What lies between two of them; the statistics' own commands are left out. */
export function difference(before: Map<string, number>, after: Map<string, number>): Map<string, number> {
  const own = ['info', 'memory|usage', 'keys'];
  return new Map(
    [...after]
      .map(([name, calls]): [string, number] => [name, calls - (before.get(name) ?? 0)])
      .filter(([name, calls]) => calls > 0 && !own.includes(name))
      .sort(([, a], [, b]) => b - a),
  );
}

/** Processor time the server has taken, ms. */
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

/** Bytes of all keys with their values. The server's own total also moves with buffers and caches. */
export async function bytesOfKeys(redis: Redis): Promise<number> {
  let bytes = 0;
  for (const key of await redis.keys('*')) bytes += (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
  return bytes;
}
