import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '../clock.js';
import { connect } from './connection.js';
import { obtainServer, type ServerOptions } from './find-server.js';
import { startPrivateRedis } from './private-server.js';

/** A temporary Redis for a test run or a demo. */
export interface ProvidedRedis {
  /** May contain a password: not for logs. */
  readonly url: string;
  /** Its origin, for people. */
  readonly origin: string;
  /** Stops it if it was started here; a Redis given by URL keeps running. */
  stop(): Promise<void>;
}

interface ProvideOptions extends Pick<ServerOptions, 'install' | 'installer'> {
  /** `REDIS_URL` of the environment itself, never of a `.env` file. */
  url: string | undefined;
  /** The image that Docker runs. */
  image: string;
  /** Receives one line for each failed attempt and each change to the machine. */
  announce: (line: string) => void;
}

/** A running daemon answers at once; one that hangs must not delay a run that can do without it. */
const DOCKER_ANSWERS_WITHIN_MS = 5_000;
/** Long enough to pull the image over a slow connection. */
const CONTAINER_UP_WITHIN_MS = 90_000;
/** Long enough for a connection through Sentinel or to a cluster. */
const REDIS_ANSWERS_WITHIN_MS = 10_000;

/**
 * Finds or starts a Redis for tests and demos: the given URL; otherwise a container, if Docker runs and the image is available;
 * otherwise a private server with the program found on this machine; otherwise, with `install` and as root, one installed by the system's
 * package manager. If none of this works, throws an error that says what to install.
 */
export async function provideRedis({
  url,
  image,
  announce,
  install,
  installer,
}: ProvideOptions): Promise<ProvidedRedis> {
  if (url !== undefined && url !== '') {
    await answers(url).catch((error: unknown) => {
      throw new Error('The Redis at REDIS_URL does not answer.', { cause: error });
    });
    return { url, origin: 'REDIS_URL', stop: async () => {} };
  }
  const container = await inContainer(image, announce);
  if (container !== undefined) return container;
  const program = await obtainServer({ install, installer, announce });
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
  // A development dependency: an installed package skips this step.
  const testcontainers = await import('testcontainers').catch(() => undefined);
  if (testcontainers === undefined) return undefined;
  const { GenericContainer, Wait, getContainerRuntimeClient } = testcontainers;
  const daemon = await within(DOCKER_ANSWERS_WITHIN_MS, getContainerRuntimeClient()).catch(() => undefined);
  if (daemon === undefined) return undefined;
  try {
    const password = randomBytes(24).toString('hex');
    const container = await within(
      CONTAINER_UP_WITHIN_MS,
      new GenericContainer(image)
        .withCopyContentToContainer([
          containerSettings(password, ['appendonly yes', 'appendfsync everysec', 'save ""']),
        ])
        .withCommand(['redis-server', CONTAINER_SETTINGS])
        .withExposedPorts(6379)
        .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
        .start(),
    );
    const stop = async (): Promise<void> => {
      await container.stop();
    };
    const url = await addressOf(container.getHost(), container.getMappedPort(6379), password).catch(
      async (error) => {
        await stop();
        throw error;
      },
    );
    return { url, origin: `a container of ${image}`, stop };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    announce(`Docker is running but cannot start ${image} (${reason}): looking for a Redis on this machine.`);
    return undefined;
  }
}

/** Where a container finds its settings. */
export const CONTAINER_SETTINGS = '/tmp/volley-redis.conf';

/**
 * The settings of a Redis in a container, as a file, so that the password appears in no process list. Docker publishes its port on every
 * address of the machine, so it needs a password.
 */
export function containerSettings(password: string, settings: readonly string[]) {
  return {
    target: CONTAINER_SETTINGS,
    content: [`requirepass ${password}`, ...settings, ''].join('\n'),
    mode: 0o444,
  };
}

/** The URL of a container's Redis: on this machine if it answers there, otherwise at `host`. Rejects if it does not answer. */
export async function addressOf(host: string, port: number, password: string): Promise<string> {
  const [here, there] = [`redis://:${password}@127.0.0.1:${port}`, `redis://:${password}@${host}:${port}`];
  const isHere = await answers(here).then(
    () => true,
    () => false,
  );
  if (!isHere) await answers(there);
  return isHere ? here : there;
}

/** Rejects if no Redis answers at this URL. */
async function answers(url: string): Promise<void> {
  const redis = connect(url, 'blocking');
  try {
    await within(REDIS_ANSWERS_WITHIN_MS, redis.ping());
  } finally {
    redis.disconnect();
  }
}
