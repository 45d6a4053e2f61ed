export type { HttpObserver, HttpRequest } from './http-metrics.js';
export { createMetrics, type Metrics, type MetricsOptions } from './metrics.js';
export { type MetricsServer, type StartMetricsOptions, serveMetrics, startMetrics } from './server.js';
