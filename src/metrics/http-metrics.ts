import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** A request to the HTTP API. `route` is the pattern of its path, so that the number of labels is limited. */
export interface HttpRequest {
  readonly method: string;
  readonly route: string;
}

/** Called when a request starts. Returns a function to call at its end, with the status of the response if there was one. */
export type HttpObserver = (request: HttpRequest) => (status: number | 'none', tookMs: number) => void;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** Counts requests to the HTTP API into `registry`. */
export function countRequests(registry: Registry): HttpObserver {
  const requests = new Counter({
    name: 'volley_http_requests_total',
    help: 'Completed requests to the HTTP API.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'volley_http_request_duration_seconds',
    help: 'Time from a request to the HTTP API to the end of its response; for an event stream, its whole duration.',
    labelNames: ['route'],
    buckets: SECONDS,
    registers: [registry],
  });
  const open = new Gauge({
    name: 'volley_http_requests_in_flight',
    help: 'Requests to the HTTP API in progress, including event streams.',
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
