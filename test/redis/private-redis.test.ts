import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { connect } from '../../src/redis/connection.js';
import { mortalContainer } from './mortal-container.js';
import { privateRedis } from './private-redis.js';

const server = await privateRedis();
const redis = connect(server.url);
afterAll(() => redis.disconnect());

test('what a private Redis has answered is there again after a kill and a restart', async () => {
  await redis.set('answered', 'yes');
  await server.kill();
  await server.restart();
  expect(await redis.get('answered')).toBe('yes');
});

test.runIf(inject('redisIsContainer'))(
  'a container does as well for tests that end their Redis',
  async () => {
    const container = await mortalContainer(inject('redisImage'));
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
