import { Counter, Histogram, type Registry } from 'prom-client';

/** An answer of the HTTP API. */
export interface HttpAnswer {
  readonly method: string;
  /** The pattern of its address, such as `/v1/campaigns/:id`: addresses themselves are without number. */
  readonly route: string;
  readonly status: number;
  readonly tookMs: number;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** Counts answers of the HTTP API into `registry`. */
export function countAnswers(registry: Registry): (answer: HttpAnswer) => void {
  const requests = new Counter({
    name: 'volley_http_requests_total',
    help: 'Requests to the HTTP API, once they are answered.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'volley_http_request_duration_seconds',
    help: 'From a request to the HTTP API to the end of its answer; streams and followed events are as long as they last.',
    labelNames: ['route'],
    buckets: SECONDS,
    registers: [registry],
  });
  return ({ method, route, status, tookMs }) => {
    requests.inc({ method, route, status });
    duration.observe({ route }, tookMs / 1_000);
  };
}
