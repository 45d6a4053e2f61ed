import { createServer, type IncomingHttpHeaders } from 'node:http';
import { InputError } from '../../campaign/errors/errors.js';

/** A request that arrived at the listener. */
export interface Recorded {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The part of its URL after the question mark; may be empty. */
  readonly query: string;
  readonly body: string;
}

/** Records the notifications of a test. */
export interface Listener {
  /** In the order of their arrival. */
  readonly received: readonly Recorded[];
  close(): Promise<void>;
}

/** More than a notification about the largest request. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Listens at the host and port of an http address, and records what arrives at its path. Rejects with an InputError if it cannot. A
 * proxy in front of it ends https.
 */
export async function openListener(url: string): Promise<Listener> {
  const { protocol, hostname, port, pathname } = new URL(url);
  if (protocol !== 'http:')
    throw new InputError(
      '`listen` must be an http address on this machine; if the service needs https, put a proxy in front, whose address is `subscribe`',
      { field: 'listen' },
    );
  const received: Recorded[] = [];
  const server = createServer((request, response) => {
    const [path, query = ''] = (request.url ?? '').split(/\?(.*)/s);
    if (path !== pathname) {
      response.writeHead(404).end();
      return;
    }
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      if (body.length + chunk.length <= MAX_BODY_BYTES) body += chunk;
    });
    request.on('end', () => {
      const { method = '', headers } = request;
      // A service may probe the address before it accepts a subscription.
      if (body !== '') received.push({ method, headers, query, body });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new InputError(`\`listen\`: this machine cannot listen there (${error.message})`, {
          field: 'listen',
        }),
      ),
    );
    server.listen(port === '' ? 80 : Number(port), hostname.replace(/^\[|\]$/g, ''), resolve);
  });
  return {
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
