import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { findServer } from '../../src/redis/find-server.js';
import { freePort, startPrivateRedis } from '../../src/redis/private-server.js';
import { recipients } from '../end-to-end/recipients.js';
import { launch, startedFleet } from '../end-to-end/started.js';

const program = await findServer();
const PASSWORD = 'private-sentinel';
const COUNT = 300;

describe.runIf(program !== undefined)('a Redis with a replica, watched by Sentinel', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'volley-sentinel-'));
  afterAll(() => rm(dir, { recursive: true, force: true }));
  const shared = { appendfsync: 'always', password: PASSWORD } as const;
  const master = await startPrivateRedis({ ...shared, dir: join(dir, 'master') });
  afterAll(() => master.stop());
  const replica = await startPrivateRedis({
    ...shared,
    dir: join(dir, 'replica'),
    settings: [`replicaof 127.0.0.1 ${master.port}`, `masterauth ${PASSWORD}`],
  });
  afterAll(() => replica.stop());
  const url = await startSentinel(program ?? '', dir, master.port);

  test('a campaign continues after the master is killed and the replica takes over, and sends no message twice', {
    timeout: 90_000,
  }, async () => {
    const operator = new Redis(replica.url);
    onTestFinished(() => operator.disconnect());
    await vi.waitUntil(async () => (await operator.info('replication')).includes('master_link_status:up'), {
      timeout: 10_000,
    });
    const fleet = await startedFleet({
      redisUrl: url,
      prefix: 'sentinel',
      workers: ['all'],
      // The master is killed, not cut off, so it loses only what was on its way to the replica.
      settings: { REDIS_MAY_LOSE: '2s' },
      simulator: { keys: [{ key: 'key' }], latency: 50, deliveryTime: 100 },
    });
    const { volley, simulator } = fleet;
    const id = await launch(fleet, { recipients: recipients(COUNT), message: 'Sale' });
    await vi.waitUntil(async () => (await simulator.summary()).recipients > COUNT / 4, { timeout: 20_000 });
    await master.kill();
    await vi.waitFor(
      async () => {
        const status = await volley.status(id);
        const { deliveredToTerminal, unknown } = status.recipients;
        expect(deliveredToTerminal + unknown, JSON.stringify(status)).toBe(COUNT);
      },
      { timeout: 60_000, interval: 100 },
    );
    expect(await operator.role()).toContain('master');
    expect((await simulator.summary()).duplicates).toBe(0);
    // A server that has just become master may close connections once more.
    const lost = fleet.logged('redis.lost').length;
    expect(lost).toBeGreaterThan(0);
    await vi.waitFor(
      () => expect(fleet.logged('redis.restored').length).toBeGreaterThanOrEqual(lost),
      10_000,
    );
  });
});

/** Starts a single Sentinel, which is a quorum of one, with the server's own program. Returns its URL. */
async function startSentinel(server: string, dir: string, masterPort: number): Promise<string> {
  const port = await freePort();
  const file = join(dir, 'sentinel.conf');
  // Sentinel writes its state to this file.
  await writeFile(
    file,
    [
      'bind 127.0.0.1',
      `port ${port}`,
      `dir ${dir}`,
      `sentinel monitor main 127.0.0.1 ${masterPort} 1`,
      `sentinel auth-pass main ${PASSWORD}`,
      'sentinel down-after-milliseconds main 1000',
      'sentinel failover-timeout main 3000',
      '',
    ].join('\n'),
  );
  const sentinel = spawn(server, [file, '--sentinel'], { stdio: 'ignore' });
  const ended = once(sentinel, 'exit');
  afterAll(async () => {
    sentinel.kill('SIGKILL');
    await ended;
  });
  const operator = new Redis({ port, lazyConnect: true });
  operator.on('error', () => {});
  // Sentinel can only promote a replica that it knows.
  await vi.waitUntil(
    async () => {
      const replicas: unknown = await operator.call('SENTINEL', 'REPLICAS', 'main').catch(() => []);
      return Array.isArray(replicas) && replicas.length === 1;
    },
    { timeout: 20_000, interval: 100 },
  );
  operator.disconnect();
  return `redis+sentinel://:${PASSWORD}@127.0.0.1:${port}/main`;
}
