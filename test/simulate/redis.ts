import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServer } from '../../src/base/redis/find-server.js';
import { startPrivateRedis } from '../../src/base/redis/private-server.js';
import { type ProvidedRedis, provideRedis } from '../../src/base/redis/provide.js';

/**
 * The Redis for a simulation: the one at `REDIS_URL`; otherwise a private server that writes nothing to disk; otherwise
 * what the tests use. Throws an Error with a one-line message when none of these is available.
 */
export async function provideSimulationRedis(announce: (line: string) => void): Promise<ProvidedRedis> {
  const url = process.env['REDIS_URL'];
  const program = url === undefined || url === '' ? await findServer() : undefined;
  if (program === undefined) {
    const image = process.env['VOLLEY_TEST_REDIS_IMAGE'] ?? 'redis:7';
    return provideRedis({ url, image, announce, install: false, installer: 'npm test' });
  }
  const dir = await mkdtemp(join(tmpdir(), 'volley-simulate-'));
  const server = await startPrivateRedis({
    dir,
    appendfsync: 'everysec',
    program,
    settings: ['appendonly no', 'latency-tracking no'],
  });
  return {
    url: server.url,
    origin: `${program}, started on port ${server.port}`,
    stop: async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
