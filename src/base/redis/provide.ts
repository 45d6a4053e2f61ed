import { answers, startRedisContainer } from './container.js';
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

/**
 * Finds or starts a Redis for tests and demos: the given URL; otherwise a container, if Docker runs and the image is available;
 * otherwise a private server with the program found on this machine; otherwise, with `install` and as root, one installed by the system's
 * package manager. If none of this works, throws an error that says what to install.
 */
export async function provideRedis({ url, image, ...server }: ProvideOptions): Promise<ProvidedRedis> {
  if (url !== undefined && url !== '') {
    await answers(url).catch((error: unknown) => {
      throw new Error('The Redis at REDIS_URL does not answer.', { cause: error });
    });
    return { url, origin: 'REDIS_URL', stop: async () => {} };
  }
  const container = await startRedisContainer(image).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    server.announce(
      `Docker is running but cannot start ${image} (${reason}): looking for a Redis on this machine.`,
    );
    return undefined;
  });
  if (container !== undefined) return { ...container, origin: `a container of ${image}` };
  const program = await obtainServer(server);
  const started = await startPrivateRedis({ appendfsync: 'everysec', program });
  return { ...started, origin: `${program}, started on port ${started.port}` };
}
