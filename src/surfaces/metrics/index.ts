export {
  createMetrics,
  type HttpObserver,
  type HttpRequest,
  type Metrics,
  type MetricsOptions,
} from './metrics.js';
export { type MetricsServer, type StartMetricsOptions, serveMetrics, startMetrics } from './server.js';
