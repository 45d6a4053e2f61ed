import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '../clock.js';
import { connect } from './connection.js';
import { findServer, installServer } from './find-server.js';
import { startPrivateRedis } from './private-server.js';

/** A Redis that a test run or a demo may fill and forget. */
export interface ProvidedRedis {
  /** May hold a password: not for logs. */
  readonly url: string;
  /** Where it comes from, for people. */
  readonly origin: string;
  /** Ends what was started for it; a Redis given by its URL is left alone. */
  stop(): Promise<void>;
}

/** What {@link provideRedis} goes by. */
export interface ProvideOptions {
  /** `REDIS_URL` of the environment proper, never of a `.env` file. */
  url: string | undefined;
  /** The image that Docker runs. */
  image: string;
  /** Told, in one line each, what is tried in vain and what is done to the machine. */
  announce: (line: string) => void;
}

/** A daemon that is there answers at once; one that hangs must not hold up a run that needs none. */
const DOCKER_ANSWERS_WITHIN_MS = 5_000;
/** Long enough to pull the image once over a slow line. */
const CONTAINER_UP_WITHIN_MS = 90_000;
/** Also for one that is reached through Sentinel or a cluster. */
const REDIS_ANSWERS_WITHIN_MS = 10_000;

/**
 * Finds or makes a Redis for tests and demos: the URL given; else a container, if a Docker daemon answers and the
 * image can be had; else a private server of a program found on the machine; else, as root, one installed by the
 * system's package manager. Throws with one line that says what to install when there is no way.
 */
export async function provideRedis({ url, image, announce }: ProvideOptions): Promise<ProvidedRedis> {
  if (url !== undefined && url !== '') {
    await answers(url).catch((error: unknown) => {
      throw new Error('The Redis that REDIS_URL names does not answer.', { cause: error });
    });
    return { url, origin: 'REDIS_URL', stop: async () => {} };
  }
  const container = await inContainer(image, announce);
  if (container !== undefined) return container;
  const program = (await findServer()) ?? (await installServer(announce));
  if (program === undefined) {
    throw new Error(
      'No Redis to be had: start Docker, install redis-server (apt install redis-server, brew install redis), or set REDIS_URL.',
    );
  }
  const dir = await mkdtemp(join(tmpdir(), 'volley-redis-'));
  const server = await startPrivateRedis({ dir, appendfsync: 'everysec', program });
  return {
    url: server.url,
    origin: `${program}, started on port ${server.port}`,
    stop: async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function inContainer(
  image: string,
  announce: (line: string) => void,
): Promise<ProvidedRedis | undefined> {
  // A development dependency: an installed package does without, and goes on to the next way.
  const testcontainers = await import('testcontainers').catch(() => undefined);
  if (testcontainers === undefined) return undefined;
  const { GenericContainer, Wait, getContainerRuntimeClient } = testcontainers;
  const daemon = await within(DOCKER_ANSWERS_WITHIN_MS, getContainerRuntimeClient()).catch(() => undefined);
  if (daemon === undefined) return undefined;
  try {
    const container = await within(
      CONTAINER_UP_WITHIN_MS,
      new GenericContainer(image)
        // The port is published to this machine; without a password Redis would answer its own loopback only.
        .withCommand(['redis-server', '--protected-mode', 'no', '--appendonly', 'yes', '--save', ''])
        .withExposedPorts(6379)
        .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
        .start(),
    );
    const stop = async (): Promise<void> => {
      await container.stop();
    };
    const url = `redis://${container.getHost()}:${container.getMappedPort(6379)}`;
    try {
      await answers(url);
    } catch (error) {
      await stop();
      throw error;
    }
    return { url, origin: `a container of ${image}`, stop };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    announce(`Docker answers but does not run ${image} (${reason}): looking for a Redis on this machine.`);
    return undefined;
  }
}

/** Rejects when nothing answers there as a Redis does. */
async function answers(url: string): Promise<void> {
  const redis = connect(url, 'blocking');
  try {
    await within(REDIS_ANSWERS_WITHIN_MS, redis.ping());
  } finally {
    redis.disconnect();
  }
}
