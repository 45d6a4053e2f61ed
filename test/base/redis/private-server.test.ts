import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
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

  test('starts on another port if a process takes the one that was free', async () => {
    const taken: number[] = [];
    const another = await startPrivateRedis({
      appendfsync: 'everysec',
      beforeListening: async (_, port) => {
        if (taken.push(port) > 1) return;
        const other = createServer().listen(port, '127.0.0.1');
        onTestFinished(() => void other.close());
        await once(other, 'listening');
      },
    });
    onTestFinished(() => another.stop());
    expect(taken).toHaveLength(2);
    expect(another.port).toBe(taken[1]);
    const client = connect(another.url);
    onTestFinished(() => client.disconnect());
    expect(await client.ping()).toBe('PONG');
  });

  test('keeps its address and its data when it is restarted, and removes only a folder of its own', async () => {
    const temporary = await startPrivateRedis({ appendfsync: 'always' });
    const { url, pid } = temporary;
    const client = connect(url, 'blocking');
    onTestFinished(() => client.disconnect());
    const [, folder = ''] = (await client.config('GET', 'dir')) as string[];
    expect(existsSync(folder)).toBe(true);
    await client.set('kept', 'yes');
    await temporary.restart();
    expect([temporary.url, temporary.pid === pid]).toEqual([url, false]);
    expect(await client.get('kept')).toBe('yes');
    await temporary.stop();
    expect([existsSync(folder), existsSync(dir)]).toEqual([false, true]);
  });

  test('reports the port and the reason if it does not start', async () => {
    const { port } = server;
    await expect(startPrivateRedis({ dir, appendfsync: 'always', port })).rejects.toThrow(
      new RegExp(`did not start on port ${port}: (NOAUTH|WRONGPASS|it ended).*Its log ends: .`),
    );
  });
});
