import { EventEmitter, once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ReconnectingCluster } from '../../../src/base/redis/cluster-connection.js';
import { connect } from '../../../src/base/redis/connection.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { startPrivateRedis } from '../../../src/base/redis/private-server.js';
import { portWithBus, startCluster } from './servers/cluster.js';

const isServerHere = (await findServer()) !== undefined;
const PASSWORD = 'one-node';

/** A cluster of one node that serves half of the slots, and therefore none. */
async function downCluster() {
  const server = await startPrivateRedis({
    port: await portWithBus(),
    password: PASSWORD,
    appendfsync: 'everysec',
    // A node that has never met another one does not know its own address.
    settings: ['cluster-enabled yes', 'cluster-announce-ip 127.0.0.1'],
  });
  const operator = new Redis(server.url);
  onTestFinished(async () => {
    operator.disconnect();
    await server.stop();
  });
  await operator.call('CLUSTER', 'ADDSLOTSRANGE', '0', '8191');
  return {
    port: server.port,
    comeUp: () => operator.call('CLUSTER', 'ADDSLOTSRANGE', '8192', '16383'),
  };
}

describe.runIf(isServerHere)('a client of a cluster', () => {
  test('an attempt to connect fails while the cluster is down, and the client connects when it is up', async () => {
    const { port, comeUp } = await downCluster();
    const redis = connect(`redis+cluster://:${PASSWORD}@127.0.0.1:${port}`);
    onTestFinished(() => redis.disconnect());
    await expect(redis.connect()).rejects.toThrow('no node of the cluster is ready');
    await comeUp();
    await vi.waitUntil(() => redis.status === 'ready', { timeout: 10_000 });
    expect(await redis.set('key', 'value')).toBe('OK');
  });

  test('so does an attempt of the duplicate that BullMQ makes and closes', async () => {
    const { port, comeUp } = await downCluster();
    const original = new ReconnectingCluster([{ host: '127.0.0.1', port }], 10_000, {
      lazyConnect: true,
      redisOptions: { password: PASSWORD },
    });
    const redis = original.duplicate(undefined, { redisOptions: { connectionName: 'worker' } });
    redis.on('error', () => {});
    onTestFinished(() => redis.disconnect());
    await expect(redis.connect()).rejects.toThrow('no node of the cluster is ready');
    await comeUp();
    await vi.waitUntil(() => redis.status === 'ready', { timeout: 10_000 });
    expect(await redis.client('GETNAME')).toBe('worker');
  });
});

describe.runIf(isServerHere)('a client that looks up names', async () => {
  const cluster = await startCluster({ appendfsync: 'everysec' });
  afterAll(() => cluster.stop());

  test('connects again although the last old connection ends during a lookup', async () => {
    const [first, second] = cluster.nodes;
    const lookup = new EventEmitter();
    const released = once(lookup, 'release');
    let lookups = 0;
    const redis = new ReconnectingCluster([{ host: 'localhost', port: first?.port ?? 0 }], 10_000, {
      lazyConnect: true,
      clusterRetryStrategy: () => 1,
      redisOptions: { password: new URL(first?.url ?? '').password },
      dnsLookup: (_name, done) => {
        lookups += 1;
        const look = lookups === 2 ? released : Promise.resolve();
        look.then(() => done(null, '127.0.0.1'));
      },
    });
    redis.on('error', () => {});
    onTestFinished(() => redis.disconnect());
    await redis.connect();
    await Promise.all(redis.nodes().map((node) => node.ping()));
    const slow = redis.nodes().find(({ options }) => options.port === second?.port);
    const ended = new Promise((resolve) => slow?.once('end', resolve));
    process.kill(second?.pid ?? 0, 'SIGSTOP');
    redis.disconnect(true);
    await vi.waitUntil(() => lookups === 2, { timeout: 15_000, interval: 1 });
    process.kill(second?.pid ?? 0, 'SIGCONT');
    await ended;
    lookup.emit('release');
    await vi.waitUntil(() => redis.status === 'ready', { timeout: 10_000 });
    expect(await redis.get('key')).toBeNull();
  });
});
