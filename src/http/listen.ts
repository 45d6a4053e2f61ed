import { InputError } from '../campaign/errors.js';
import type { LocalConfig } from '../config/index.js';
import type { Events } from '../events/events.js';
import type { HttpApp } from './app.js';

/** Listens on HTTP_HOST and HTTP_PORT, and returns the address. Throws an InputError if the port cannot be used. */
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
          `port ${port} of ${host} is in use: set HTTP_PORT to another port, or to 0 for any free one`,
        );
      case 'EACCES':
        throw new InputError(
          `this user may not use port ${port} of ${host}: set HTTP_PORT to 1024 or higher`,
        );
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new InputError(`${host} is not an address of this machine: correct HTTP_HOST`);
      default:
        throw error;
    }
  }
}
