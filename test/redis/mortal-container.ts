import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { connect } from '../../src/redis/connection.js';
import { freePort } from '../../src/redis/private-server.js';
import type { MortalRedis } from './private-redis.js';

/** As {@link MortalRedis}, with the end of it, for machines that have Docker and no Redis of their own. */
export async function mortalContainer(image: string): Promise<MortalRedis & { stop(): Promise<void> }> {
  // A port of our choice: one of Docker's choice would be another after a restart.
  const port = await freePort();
  const started = await new GenericContainer(image)
    .withCommand('redis-server --protected-mode no --appendonly yes --appendfsync always'.split(' '))
    .withExposedPorts({ container: 6379, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start();
  const url = `redis://${started.getHost()}:${port}`;
  const container = (await getContainerRuntimeClient()).container.getById(started.getId());
  const isRunning = async (): Promise<boolean> => (await container.inspect()).State.Running;
  const kill = async (): Promise<void> => {
    if (!(await isRunning())) return;
    await container.kill({ signal: 'SIGKILL' });
    // Docker answers when the signal is sent; to a container that has ended already, that it has.
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
