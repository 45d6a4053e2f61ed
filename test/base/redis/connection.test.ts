import { expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { SOON } from '../soon.js';
import { testRedis } from './test-redis.js';

const { url } = testRedis('connection');

/** What ioredis does to a connection when Sentinel announces a new master. */
function announceMaster(redis: ReturnType<typeof connect>): void {
  const connector: unknown = Reflect.get(redis, 'connector');
  if (typeof connector !== 'object' || connector === null) throw new Error('ioredis has no connector');
  const disconnect: unknown = Reflect.get(connector, 'disconnect');
  if (typeof disconnect !== 'function') throw new Error('the connector of ioredis cannot disconnect');
  Reflect.apply(disconnect, connector, []);
}

test.each(['protocol', 'blocking'] as const)(
  'A %s connection opens again if a new master is announced while it is being opened',
  async (kind) => {
    const redis = connect(url, kind);
    onTestFinished(() => redis.disconnect());
    const ended = new Promise((resolve) => redis.once('end', resolve));
    const first = redis.ping();
    first.catch(() => {});
    announceMaster(redis);
    await ended;
    await expect(first).rejects.toThrow('Connection is closed');
    await vi.waitUntil(() => redis.status === 'ready', SOON);
    expect(await redis.ping()).toBe('PONG');
  },
);

test.each(['disconnect', 'quit'] as const)('A connection stays closed after %s', async (how) => {
  const redis = connect(url);
  await redis.ping();
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const ended = new Promise((resolve) => redis.once('end', resolve));
  await redis[how]();
  await ended;
  vi.advanceTimersByTime(60_000);
  expect(redis.status).toBe('end');
  await expect(redis.ping()).rejects.toThrow('Connection is closed');
});
