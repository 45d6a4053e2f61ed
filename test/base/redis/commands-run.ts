import type { Redis } from '../../../src/base/redis/connection.js';

/**
 * Commands that the server has run since it started, including those in scripts. Without INFO, which counts them, and PING, which
 * each idle connection sends at its own time. The server must be the test's own (`privateRedis`): it counts every client's commands.
 */
export async function commandsRun(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats');
  const ours = [...stats.matchAll(/^cmdstat_(?!info|config|ping)\S+?:calls=(\d+)/gm)];
  return ours.reduce((sum, [, calls]) => sum + Number(calls), 0);
}
