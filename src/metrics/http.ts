import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** A request to the HTTP API; `route` is the pattern of its address, because addresses are without number. */
export interface HttpRequest {
  readonly method: string;
  readonly route: string;
}

/** Told of a request when it begins. Returns what is told of its end: the status that was answered, if any was. */
export type HttpWatch = (request: HttpRequest) => (status: number | 'none', tookMs: number) => void;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** Counts requests to the HTTP API into `registry`. */
export function countRequests(registry: Registry): HttpWatch {
  const requests = new Counter({
    name: 'volley_http_requests_total',
    help: 'Requests to the HTTP API that are over.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'volley_http_request_duration_seconds',
    help: 'From a request to the HTTP API to the end of its answer; a stream is as long as it is read.',
    labelNames: ['route'],
    buckets: SECONDS,
    registers: [registry],
  });
  const open = new Gauge({
    name: 'volley_http_open_requests',
    help: 'Requests to the HTTP API that are being answered, followed events among them.',
    labelNames: ['route'],
    registers: [registry],
  });
  return ({ method, route }) => {
    open.inc({ route });
    return (status, tookMs) => {
      open.dec({ route });
      requests.inc({ method, route, status });
      duration.observe({ route }, tookMs / 1_000);
    };
  };
}
