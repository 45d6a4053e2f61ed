import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { connect } from '../../../../src/base/redis/connection.js';
import { killableContainer } from './killable-container.js';
import { privateRedis } from './private-redis.js';

const server = await privateRedis();
const redis = connect(server.url);
afterAll(() => redis.disconnect());

test('a private Redis keeps every acknowledged write across a kill and a restart', async () => {
  await redis.set('answered', 'yes');
  await server.kill();
  await server.restart();
  expect(await redis.get('answered')).toBe('yes');
});

test.runIf(inject('redisIsContainer'))(
  'a container keeps every acknowledged write across a kill and a restart',
  async () => {
    const container = await killableContainer(inject('redisImage'));
    onTestFinished(() => container.stop());
    const other = connect(container.url);
    onTestFinished(() => other.disconnect());
    await other.set('answered', 'yes');
    await container.kill();
    expect(await isAlive(container.url)).toBe(false);
    await container.restart();
    expect(await other.get('answered')).toBe('yes');
  },
);

async function isAlive(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = createConnection(Number(port), hostname);
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return connected;
}
