import { expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { freePort } from '../../../src/base/redis/private-server.js';
import { watchConnection } from '../../../src/base/redis/watch.js';
import { SOON } from '../soon.js';
import { privateRedis } from './servers/private-redis.js';

const server = await privateRedis();

/** The reports on a connection, in order. */
function watched(url: string) {
  const redis = connect(url);
  const reports: string[] = [];
  const unwatch = watchConnection(redis, {
    onLost: ({ message }) => reports.push(message),
    onRestored: (downMs) => reports.push(downMs > 0 ? 'restored' : 'restored before it was lost'),
  });
  onTestFinished(() => {
    unwatch();
    redis.disconnect();
  });
  return { redis, reports };
}

test('a break and its end are each reported once', async () => {
  const { redis, reports } = watched(server.url);
  await redis.ping();
  expect(reports).toEqual([]);
  await server.kill();
  await vi.waitFor(() => expect(reports).toEqual(['the connection was closed']), SOON);
  await server.restart();
  await vi.waitFor(() => expect(reports).toEqual(['the connection was closed', 'restored']), SOON);
});

test('a server that is down from the start is reported once with the reason, and again when it is up', async () => {
  await server.kill();
  const { redis, reports } = watched(server.url);
  const closed = vi.fn();
  redis.on('close', closed);
  await expect(redis.ping()).rejects.toThrow();
  await vi.waitFor(() => expect(closed.mock.calls.length).toBeGreaterThan(2), SOON);
  expect(reports).toEqual([expect.stringContaining('ECONNREFUSED')]);
  await server.restart();
  await vi.waitFor(() => expect(reports.at(1)).toBe('restored'), SOON);
});

test('a cluster without a reachable node is reported once', async () => {
  const port = await freePort();
  const { redis, reports } = watched(`redis+cluster://127.0.0.1:${port}`);
  const closed = vi.fn();
  redis.on('close', closed);
  await expect(redis.get('key')).rejects.toThrow();
  await vi.waitFor(() => expect(closed.mock.calls.length).toBeGreaterThan(1), SOON);
  expect(reports).toEqual([expect.stringContaining('slots cache')]);
});
