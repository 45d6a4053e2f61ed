import { getContainerRuntimeClient } from 'testcontainers';
import { connect } from '../../../../src/base/redis/connection.js';
import { startRedisContainer } from '../../../../src/base/redis/container.js';
import { freePort } from '../../../../src/base/redis/private-server.js';
import type { KillableRedis } from './private-redis.js';

/** A {@link KillableRedis} in a container, for machines with Docker and without a Redis program. */
export async function killableContainer(image: string): Promise<KillableRedis> {
  // A fixed port: Docker would choose another one after a restart.
  const started = await startRedisContainer(image, { appendfsync: 'always', port: await freePort() });
  if (started === undefined) throw new Error('there is neither a Redis program nor Docker on this machine');
  const { url, id } = started;
  const container = (await getContainerRuntimeClient()).container.getById(id);
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
