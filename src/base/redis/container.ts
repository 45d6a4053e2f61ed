import { randomBytes } from 'node:crypto';
import { within } from '../clock.js';
import { connect } from './connection.js';

/** A running daemon answers at once; one that hangs must not delay a run that can do without it. */
const DOCKER_ANSWERS_WITHIN_MS = 5_000;
/** Long enough to pull the image over a slow connection. */
const CONTAINER_UP_WITHIN_MS = 90_000;
/** Long enough for a connection through Sentinel or to a cluster. */
const REDIS_ANSWERS_WITHIN_MS = 10_000;
/** Where a container finds its settings. */
const SETTINGS_FILE = '/tmp/volley-redis.conf';

/** A Redis in a container. */
export interface RedisContainer {
  /** Contains the password: not for logs. */
  readonly url: string;
  readonly id: string;
  stop(): Promise<void>;
}

/**
 * Starts a Redis with this image. `port`: of this machine; default: one that Docker chooses. Undefined if there is no Docker, or no
 * testcontainers: it is a development dependency, which an installed package does not have. Rejects if Docker cannot start the image.
 */
export async function startRedisContainer(
  image: string,
  {
    appendfsync = 'everysec',
    port,
  }: { readonly appendfsync?: 'always' | 'everysec'; readonly port?: number } = {},
): Promise<RedisContainer | undefined> {
  const testcontainers = await import('testcontainers').catch(() => undefined);
  if (testcontainers === undefined) return undefined;
  const { GenericContainer, Wait, getContainerRuntimeClient } = testcontainers;
  const daemon = await within(DOCKER_ANSWERS_WITHIN_MS, getContainerRuntimeClient()).catch(() => undefined);
  if (daemon === undefined) return undefined;
  // Docker publishes the port on every address of the machine, so the server needs a password; in a file, no process list shows it.
  const password = randomBytes(24).toString('hex');
  const settings = [`requirepass ${password}`, 'appendonly yes', `appendfsync ${appendfsync}`, 'save ""', ''];
  const file = { target: SETTINGS_FILE, content: settings.join('\n'), mode: 0o444 };
  const container = await within(
    CONTAINER_UP_WITHIN_MS,
    new GenericContainer(image)
      .withCopyContentToContainer([file])
      .withCommand(['redis-server', SETTINGS_FILE])
      .withExposedPorts(port === undefined ? 6379 : { container: 6379, host: port })
      .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
      .start(),
  );
  const stop = async (): Promise<void> => void (await container.stop());
  const urlAt = (host: string): string => `redis://:${password}@${host}:${container.getMappedPort(6379)}`;
  const [here, there] = [urlAt('127.0.0.1'), urlAt(container.getHost())];
  try {
    const isHere = await answers(here).then(
      () => true,
      () => false,
    );
    if (!isHere) await answers(there);
    return { url: isHere ? here : there, id: container.getId(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Rejects if no Redis answers at this URL. */
export async function answers(url: string): Promise<void> {
  const redis = connect(url, 'blocking');
  try {
    await within(REDIS_ANSWERS_WITHIN_MS, redis.ping());
  } finally {
    redis.disconnect();
  }
}
