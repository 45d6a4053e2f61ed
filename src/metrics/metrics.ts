import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Events } from '../events/events.js';
import type { FleetReader } from '../reporting/fleet-snapshot.js';
import { version } from '../version.js';
import { countEvents } from './event-counters.js';
import { fleetMetrics } from './fleet-metrics.js';
import { countRequests, type HttpObserver } from './http-metrics.js';

/** What metrics are made from; a `Volley` is one. */
export interface MetricsSource extends FleetReader {
  readonly events: Events;
}

/** What {@link createMetrics} needs. */
export interface MetricsOptions {
  readonly volley: MetricsSource;
  /** The names of the lanes, from the configuration. */
  readonly lanes: readonly string[];
  /** What this process does, such as `send`. */
  readonly role: string;
}

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

/** Creates the metrics and starts counting. */
export function createMetrics({ volley, lanes, role }: MetricsOptions): Metrics {
  const registry = new Registry();
  const node = nodeMetrics();
  const info = new Gauge({
    name: 'volley_info',
    help: 'Always 1. The labels show the version and the role of the process.',
    labelNames: ['version', 'role'],
    registers: [registry],
  });
  info.set({ version, role }, 1);
  const stop = countEvents(registry, volley.events, lanes);
  const fleet = fleetMetrics(() => volley.fleetSnapshot());
  return {
    contentType: registry.contentType,
    process: async () => `${await registry.metrics()}\n${await node.metrics()}`,
    fleet: () => fleet.text(),
    http: () => countRequests(registry),
    close: stop,
  };
}
