import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServer } from '../../src/redis/find-server.js';
import { startPrivateRedis } from '../../src/redis/private-server.js';
import { type ProvidedRedis, provideRedis } from '../../src/redis/provide.js';

/**
 * Where worlds are put: the Redis that `REDIS_URL` names; else a private server that writes nothing to disk, for there is
 * nothing in it to keep; else whatever the tests would find. Throws with one line when there is no way.
 */
export async function findPlace(announce: (line: string) => void): Promise<ProvidedRedis> {
  const url = process.env['REDIS_URL'];
  const program = url === undefined || url === '' ? await findServer() : undefined;
  if (program === undefined) {
    const image = process.env['VOLLEY_TEST_REDIS_IMAGE'] ?? 'redis:7';
    return provideRedis({ url, image, announce });
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
