import { InputError } from '../campaign/errors.js';
import type { LocalConfig } from '../config/index.js';
import type { Events } from '../events/events.js';
import type { HttpApp } from './app.js';

/** Listens as it is set, and returns the address. Rejects with an InputError for a place that cannot be had. */
export async function listen(app: HttpApp, { http }: LocalConfig, events: Events): Promise<string> {
  const { host, port } = http;
  try {
    const address = await app.listen({ host, port });
    events.emit({ type: 'http.listening', url: address });
    return address;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    switch (code) {
      case 'EADDRINUSE':
        throw new InputError(
          `port ${port} of ${host} is taken: set HTTP_PORT to another, or to 0 for any that is free`,
        );
      case 'EACCES':
        throw new InputError(
          `port ${port} of ${host} may not be used by this user: set HTTP_PORT to one above 1023`,
        );
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new InputError(`${host} is no address of this machine: mend HTTP_HOST`);
      default:
        throw error;
    }
  }
}
