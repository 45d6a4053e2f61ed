import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { maybeTexts, members, text } from '../../app/input/checked.js';
import { isTrustedHost } from '../../base/host-header.js';
import { parseInput, withMethod } from '../../campaign/fields/input.js';
import { createMetrics, type Metrics, type MetricsSource } from './metrics.js';

/** Options of {@link serveMetrics}. */
interface ServeMetricsOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Names under which clients reach the server, besides addresses and names without a dot. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** A server for Prometheus. */
export interface MetricsServer {
  /** Such as `http://127.0.0.1:9464`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Options of {@link startMetrics}. */
export interface StartMetricsOptions {
  readonly volley: MetricsSource;
  readonly config: {
    readonly lanes: readonly { readonly name: string }[];
    readonly metrics?: ServeMetricsOptions | undefined;
  };
  /** What this process does, such as `send`. */
  readonly role: string;
}

const SERVE = members<ServeMetricsOptions>({
  host: text,
  port: z.int().min(0).max(65_535),
  allowedHosts: maybeTexts,
});
const START = members<StartMetricsOptions>({
  volley: withMethod('fleetSnapshot', 'must be what `createVolley` returns'),
  config: z.custom<StartMetricsOptions['config']>(
    (given) => Array.isArray(Object(given).lanes),
    'must be what `loadConfig` returns',
  ),
  role: text,
});

/**
 * Serves the metrics of a process if the configuration has a port. If the port cannot be opened, it emits
 * `metrics.failed`, and the process continues. Returns a function that stops the server.
 */
export async function startMetrics(options: StartMetricsOptions): Promise<() => Promise<void>> {
  const { volley, config, role } = parseInput(START, options);
  if (config.metrics === undefined) return async () => {};
  const metrics = createMetrics({ volley, lanes: () => config.lanes, role });
  try {
    const server = await serveMetrics(metrics, config.metrics);
    volley.events.emit({ type: 'metrics.served', url: server.url });
    return async () => {
      metrics.close();
      await server.close();
    };
  } catch (error) {
    volley.events.emit({ type: 'metrics.failed', error });
    return async () => metrics.close();
  }
}

/**
 * Serves `/metrics`, the metrics of this process, and `/metrics/fleet`, those of the fleet. Plain HTTP without a key,
 * for private networks only. Rejects if the port cannot be opened.
 */
export async function serveMetrics(metrics: Metrics, options: ServeMetricsOptions): Promise<MetricsServer> {
  const { host, port, allowedHosts } = parseInput(SERVE, options);
  const server = createServer((request, response) => {
    response.setHeader('x-content-type-options', 'nosniff').setHeader('cache-control', 'no-store');
    if (isTrustedHost(request.headers.host, host, allowedHosts)) {
      respond(metrics, request, response).catch(() => response.destroy());
    } else {
      response
        .writeHead(421, { 'content-type': 'text/plain' })
        .end(
          'The header Host has an unknown name. Use an address, or add the name to METRICS_ALLOWED_HOSTS.\n',
        );
    }
  });
  server.listen(port, host);
  await once(server, 'listening');
  // A scraper with an open connection must not keep a finished process alive.
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

async function respond(metrics: Metrics, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pages: Readonly<Record<string, () => Promise<string>>> = {
    '/metrics': metrics.process,
    '/metrics/fleet': metrics.fleet,
  };
  const [path = ''] = (request.url ?? '').split('?');
  const page = pages[path];
  if (page === undefined) {
    response
      .writeHead(404, { 'content-type': 'text/plain' })
      .end('Not found. Use /metrics or /metrics/fleet.\n');
  } else if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end();
  } else {
    const text = await page();
    response.writeHead(200, { 'content-type': metrics.contentType });
    response.end(request.method === 'HEAD' ? undefined : `${text}\n`);
  }
}
