import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import { members, text } from '../../app/input/checked.js';
import type { Events } from '../../base/events/events.js';
import { version } from '../../base/version.js';
import { parseInput, withMethod } from '../../campaign/fields/input.js';
import type { FleetReader } from '../../reporting/fleet-snapshot.js';
import { countEvents, type MeasuredLane } from './event-counters.js';
import { fleetMetrics } from './fleet-metrics.js';

/** What metrics are made from; a `Volley` is one. */
export interface MetricsSource extends FleetReader {
  readonly events: Events;
}

/** What {@link createMetrics} needs. */
export interface MetricsOptions {
  readonly volley: MetricsSource;
  /** The lanes, or what returns those that there are now, with the account that a reseller acts for. */
  readonly lanes: readonly (string | MeasuredLane)[] | (() => readonly MeasuredLane[]);
  /** What this process does, such as `send`. */
  readonly role: string;
}

/** A request to the HTTP API. `route` is the pattern of its path, so that the number of labels is limited. */
export interface HttpRequest {
  readonly method: string;
  readonly route: string;
}

/** Called when a request starts. Returns a function to call at its end, with the status of the response if there was one. */
export type HttpObserver = (request: HttpRequest) => (status: number | 'none', tookMs: number) => void;

/** Metrics in the text format of Prometheus. docs/metrics.md lists them. */
export interface Metrics {
  readonly contentType: string;
  /** What this process has done since it started, and its use of resources. */
  process(): Promise<string>;
  /** The state of all lanes, campaigns, and workers. Each call reads it from Redis. */
  fleet(): Promise<string>;
  /** Adds the metrics of the HTTP API. Returns the function to call for each request. */
  http(): HttpObserver;
  /** Stops counting. */
  close(): void;
}

/** The metrics of Node. They observe the event loop and cannot be removed, so a process has only one registry of them. */
let nodeRegistry: Registry | undefined;

function nodeMetrics(): Registry {
  if (nodeRegistry === undefined) {
    nodeRegistry = new Registry();
    collectDefaultMetrics({ register: nodeRegistry });
  }
  return nodeRegistry;
}

const OPTIONS = members<MetricsOptions>({
  volley: withMethod('fleetSnapshot', 'must be what `createVolley` returns'),
  lanes: z.custom<MetricsOptions['lanes']>(
    (given) => typeof given === 'function' || Array.isArray(given),
    'must be a list of lanes, or a function that returns one',
  ),
  role: text,
});

/** Creates the metrics and starts counting. */
export function createMetrics(options: MetricsOptions): Metrics {
  const { volley, lanes, role } = parseInput(OPTIONS, options);
  const registry = new Registry();
  const node = nodeMetrics();
  const info = new Gauge({
    name: 'volley_info',
    help: 'Always 1. The labels show the version and the role of the process.',
    labelNames: ['version', 'role'],
    registers: [registry],
  });
  info.set({ version, role }, 1);
  const current = (): readonly MeasuredLane[] =>
    typeof lanes === 'function'
      ? lanes()
      : lanes.map((lane) => (typeof lane === 'string' ? { name: lane } : lane));
  const counters = countEvents(registry, volley.events, current);
  return {
    contentType: registry.contentType,
    process: async () => {
      counters.beginLanes();
      return `${await registry.metrics()}\n${await node.metrics()}`;
    },
    fleet: fleetMetrics(() => volley.fleetSnapshot()),
    http: () => countRequests(registry),
    close: counters.stop,
  };
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** Counts requests to the HTTP API into `registry`. */
function countRequests(registry: Registry): HttpObserver {
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
