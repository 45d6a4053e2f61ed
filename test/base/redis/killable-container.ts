import { randomBytes } from 'node:crypto';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { connect } from '../../../src/base/redis/connection.js';
import { freePort } from '../../../src/base/redis/private-server.js';
import { addressOf, CONTAINER_SETTINGS, containerSettings } from '../../../src/base/redis/provide.js';
import type { KillableRedis } from './private-redis.js';

/** A {@link KillableRedis} in a container, for machines with Docker and without a Redis program. */
export async function killableContainer(image: string): Promise<KillableRedis & { stop(): Promise<void> }> {
  // A fixed port: Docker would choose another one after a restart.
  const port = await freePort();
  const password = randomBytes(24).toString('hex');
  const started = await new GenericContainer(image)
    .withCopyContentToContainer([containerSettings(password, ['appendonly yes', 'appendfsync always'])])
    .withCommand(['redis-server', CONTAINER_SETTINGS])
    .withExposedPorts({ container: 6379, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start();
  const url = await addressOf(started.getHost(), port, password);
  const container = (await getContainerRuntimeClient()).container.getById(started.getId());
  const isRunning = async (): Promise<boolean> => (await container.inspect()).State.Running;
  const kill = async (): Promise<void> => {
    if (!(await isRunning())) return;
    await container.kill({ signal: 'SIGKILL' });
    // Docker answers as soon as the signal is sent.
    await container.wait();
  };
  return {
    url,
    kill,
    restart: async () => {
      await kill();
      await container.start();
      const redis = connect(url, 'blocking');
      await redis.ping();
      redis.disconnect();
    },
    stop: async () => {
      await container.remove({ force: true, v: true });
    },
  };
}
