import { entry } from '../entry.js';
import { count, failure, foreignId, id, prose, span } from '../field.js';

/** What a process and its HTTP API do. */
export const PROCESS_EVENTS = {
  'config.hint': entry('warn', { hint: prose }, (e) => e.hint),
  'process.started': entry('info', { version: id }, (e) => `Volley ${e.version} has started`),
  'process.ready': entry('info', { lanes: count('lane') }, (e) => `Volley is ready to serve ${e.lanes}`),
  'process.draining': entry(
    'info',
    { signal: id, deadline: span },
    (e) => `Volley received ${e.signal}, and finishes in-flight requests within ${e.deadline}`,
  ),
  'process.drained': entry(
    'info',
    { took: span },
    (e) => `Volley has finished in-flight requests in ${e.took}`,
  ),
  'metrics.served': entry('info', { url: id }, (e) => `Volley serves metrics at ${e.url}/metrics`),
  'metrics.failed': entry(
    'error',
    { error: failure },
    (e) =>
      `Volley cannot serve metrics at METRICS_HOST and METRICS_PORT: ${e.error}; the process continues without metrics`,
  ),
  'listener.failed': entry(
    'error',
    { eventType: id, error: failure },
    (e) => `a listener for ${e.eventType} threw an error: ${e.error}; other listeners are not affected`,
  ),

  'http.listening': entry('info', { url: id }, (e) => `the HTTP API listens at ${e.url}`),
  // `xRequestId`: of the request to the HTTP API. The client may have chosen it.
  'http.answered': entry(
    'debug',
    { method: id, route: id, status: id, took: span, xRequestId: foreignId },
    (e) => `${e.method} ${e.route} (${e.xRequestId}): ${e.status} after ${e.took}`,
  ),
  'http.failed': entry(
    'error',
    { method: id, route: id, xRequestId: foreignId, error: failure },
    (e) => `${e.method} ${e.route} (${e.xRequestId}) failed: ${e.error}`,
  ),
  'http.brokeOff': entry(
    'error',
    { method: id, route: id, xRequestId: foreignId, error: failure },
    (e) => `${e.method} ${e.route} (${e.xRequestId}) failed after the response had started: ${e.error}`,
  ),
} as const;
