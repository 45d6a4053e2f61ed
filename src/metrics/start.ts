import { createMetrics, type MetricsSource } from './metrics.js';
import { serveMetrics } from './server.js';

/** What {@link startMetrics} goes by. */
export interface StartMetricsOptions {
  readonly volley: MetricsSource;
  readonly config: {
    readonly lanes: readonly { readonly name: string }[];
    readonly metrics?: { readonly host: string; readonly port: number } | undefined;
  };
  /** What this process does, such as `send`. */
  readonly role: string;
}

/**
 * Counts what the process does and serves it, if the settings name a port. One that is not to be had is told of and
 * keeps nobody from sending. Returns what ends it.
 */
export async function startMetrics(options: StartMetricsOptions): Promise<() => Promise<void>> {
  const { volley, config, role } = options;
  if (config.metrics === undefined) return async () => {};
  const metrics = createMetrics({ volley, lanes: config.lanes.map(({ name }) => name), role });
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
