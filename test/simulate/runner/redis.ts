import { findServer } from '../../../src/base/redis/find-server.js';
import { startPrivateRedis } from '../../../src/base/redis/private-server.js';
import { type ProvidedRedis, provideRedis } from '../../../src/base/redis/provide.js';

/**
 * The Redis for a simulation: the one at `REDIS_URL`; otherwise a private server that writes nothing to disk; otherwise
 * what the tests use. Throws an Error with a one-line message when none of these is available.
 */
export async function provideSimulationRedis(announce: (line: string) => void): Promise<ProvidedRedis> {
  const url = process.env['REDIS_URL'];
  const program = url === undefined || url === '' ? await findServer() : undefined;
  if (program === undefined) {
    const image = process.env['VOLLEY_TEST_REDIS_IMAGE'] ?? 'redis:7';
    return provideRedis({ url, image, announce, installer: 'npm test' });
  }
  const settings = ['appendonly no', 'latency-tracking no'];
  const server = await startPrivateRedis({ appendfsync: 'everysec', program, settings });
  return { ...server, origin: `${program}, started on port ${server.port}` };
}
