export type { HttpRequest, HttpWatch } from './http.js';
export { createMetrics, type Metrics, type MetricsOptions } from './metrics.js';
export { type MetricsServer, serveMetrics } from './server.js';
export { type StartMetricsOptions, startMetrics } from './start.js';
