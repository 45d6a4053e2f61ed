import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { connect, type Redis } from '../../../../src/base/redis/connection.js';
import { startPrivateRedis } from '../../../../src/base/redis/private-server.js';

/** A Redis server of the running test, and another that takes over from it. */
export interface FailoverPair {
  /** Connected to the first server. */
  readonly redis: Redis;
  /** The other server copies everything and takes over. What the first one writes from now on will be lost. */
  failOver(): Promise<void>;
  /** The first server copies everything from the other one, and takes over again. */
  failBack(): Promise<void>;
}

/** Starts both servers. Needs a redis-server on this machine. */
export async function failoverPair(): Promise<FailoverPair> {
  const dir = await mkdtemp(join(tmpdir(), 'volley-failover-'));
  // A child of a server that was killed may still be rewriting its append-only file.
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 }));
  const start = async (name: string) => {
    const settings = ['masterauth secret', 'repl-diskless-sync-delay 0'];
    const server = await startPrivateRedis({
      dir: join(dir, name),
      appendfsync: 'everysec',
      password: 'secret',
      settings,
    });
    const redis = connect(server.url);
    onTestFinished(async () => {
      redis.disconnect();
      await server.kill();
    });
    return { redis, port: server.port };
  };
  const [first, other] = await Promise.all([start('first'), start('other')]);
  const copy = async (from: typeof first, to: typeof first): Promise<void> => {
    await to.redis.replicaof('127.0.0.1', from.port);
    await vi.waitUntil(
      async () => (await to.redis.info('replication')).includes('master_link_status:up'),
      30_000,
    );
    await to.redis.replicaof('NO', 'ONE');
  };
  return {
    redis: first.redis,
    failOver: () => copy(first, other),
    failBack: () => copy(other, first),
  };
}
