import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Redis } from '../../../src/base/redis/connection.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { type PrivateRedis, startPrivateRedis } from '../../../src/base/redis/private-server.js';

const program = await findServer();

describe.skipIf(program === undefined)('a private server', () => {
  let dir: string;
  let server: PrivateRedis;
  let redis: Redis;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'volley-private-'));
    server = await startPrivateRedis({ dir, appendfsync: 'always' });
    redis = connect(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  });

  test('has every acknowledged write on disk, evicts nothing, and listens only on the loopback interface', async () => {
    const names = ['appendonly', 'appendfsync', 'maxmemory-policy', 'bind', 'save'];
    const settings = await Promise.all(names.map((name) => redis.config('GET', name)));
    expect(Object.fromEntries(settings as [string, string][])).toEqual({
      appendonly: 'yes',
      appendfsync: 'always',
      'maxmemory-policy': 'noeviction',
      bind: '127.0.0.1',
      save: '',
    });
  });

  test('rejects clients without its password', async () => {
    const stranger = connect(server.url.replace(/:[0-9a-f]+@/, ':wrong@'));
    const refusal = new Promise((resolve) => stranger.once('error', resolve));
    stranger.ping().catch(() => {});
    expect(String(await refusal)).toContain('WRONGPASS');
    stranger.disconnect();
  });

  test('exposes its password neither in the process list nor in its log', async () => {
    const { password } = new URL(server.url);
    const shown = await readFile(`/proc/${server.pid}/cmdline`, 'utf8').catch(() => '');
    expect(shown).not.toContain(password);
    expect(await readFile(join(dir, 'redis.log'), 'utf8')).not.toContain(password);
  });

  test('reports the port and the reason if it does not start', async () => {
    const { port } = server;
    await expect(startPrivateRedis({ dir, appendfsync: 'always', port })).rejects.toThrow(
      new RegExp(`did not start on port ${port}: (NOAUTH|WRONGPASS|it ended).*Its log ends: .`),
    );
  });
});
