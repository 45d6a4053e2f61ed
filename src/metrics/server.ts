import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics.js';

/** What {@link serveMetrics} goes by. */
export interface ServeMetricsOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** A port at which Prometheus asks. */
export interface MetricsServer {
  /** Such as `http://127.0.0.1:9464`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves `/metrics`, what this process counts, and `/metrics/fleet`, what Redis knows. Plain HTTP without a key: it is
 * meant for a network of one's own. Rejects if the port is not to be had.
 */
export async function serveMetrics(
  metrics: Metrics,
  { host, port }: ServeMetricsOptions,
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    answer(metrics, request, response).catch(() => response.destroy());
  });
  server.listen(port, host);
  await once(server, 'listening');
  // A process that is done must not wait for whoever asks every 15 seconds.
  server.unref();
  const { address, family, port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(metrics: Metrics, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Readonly<Record<string, () => Promise<string>>> = {
    '/metrics': metrics.process,
    '/metrics/fleet': metrics.fleet,
  };
  const [path = ''] = (request.url ?? '').split('?');
  const part = parts[path];
  if (part === undefined) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('There are /metrics and /metrics/fleet.\n');
  } else if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end();
  } else {
    const text = await part();
    response.writeHead(200, { 'content-type': metrics.contentType });
    response.end(request.method === 'HEAD' ? undefined : `${text}\n`);
  }
}
