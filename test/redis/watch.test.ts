import { expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../src/redis/connection.js';
import { freePort } from '../../src/redis/private-server.js';
import { watchConnection } from '../../src/redis/watch.js';
import { privateRedis } from './private-redis.js';

const server = await privateRedis();

/** What is told of a connection, in order. */
function watched(url: string) {
  const redis = connect(url);
  const told: string[] = [];
  const unwatch = watchConnection(redis, {
    onLost: ({ message }) => told.push(message),
    onRestored: (downMs) => told.push(downMs > 0 ? 'restored' : 'restored before it was lost'),
  });
  onTestFinished(() => {
    unwatch();
    redis.disconnect();
  });
  return { redis, told };
}

test('A break is told once, and that it is over', async () => {
  const { redis, told } = watched(server.url);
  await redis.ping();
  expect(told).toEqual([]);
  await server.kill();
  await vi.waitFor(() => expect(told).toEqual(['the connection was closed']), 10_000);
  await server.restart();
  await vi.waitFor(() => expect(told).toEqual(['the connection was closed', 'restored']), 10_000);
});

test('A server that is away to begin with is told of once, with why, and told to be there when it comes', async () => {
  await server.kill();
  const { redis, told } = watched(server.url);
  const closed = vi.fn();
  redis.on('close', closed);
  await expect(redis.ping()).rejects.toThrow();
  await vi.waitFor(() => expect(closed.mock.calls.length).toBeGreaterThan(2), 10_000);
  expect(told).toEqual([expect.stringContaining('ECONNREFUSED')]);
  await server.restart();
  await vi.waitFor(() => expect(told.at(1)).toBe('restored'), 10_000);
});

test('A cluster of which no node can be reached is told of once', async () => {
  const port = await freePort();
  const { redis, told } = watched(`redis+cluster://127.0.0.1:${port}`);
  const closed = vi.fn();
  redis.on('close', closed);
  await expect(redis.get('key')).rejects.toThrow();
  await vi.waitFor(() => expect(closed.mock.calls.length).toBeGreaterThan(1), 10_000);
  expect(told).toEqual([expect.stringContaining('slots cache')]);
});
