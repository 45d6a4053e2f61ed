import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Events } from '../events/events.js';
import type { FleetReader } from '../reporting/fleet-snapshot.js';
import { version } from '../version.js';
import { countEvents } from './counted.js';
import { fleetMetrics } from './fleet.js';
import { countRequests, type HttpWatch } from './http.js';

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

/** The metrics of a process, in the text format of Prometheus; docs/metrics.md is their catalogue. */
export interface Metrics {
  readonly contentType: string;
  /** What this process has done since it began, and how it is. */
  process(): Promise<string>;
  /** How lanes, campaigns and workers stand, wherever they are: asked of Redis when it is called. */
  fleet(): Promise<string>;
  /** Adds what only a process has that serves HTTP. Returns what is told of each request. */
  http(): HttpWatch;
  /** Counts no more. */
  close(): void;
}

/** Of Node. It watches the garbage collector and the event loop, and cannot be ended: a process has one. */
let node: Registry | undefined;

function ofNode(): Registry {
  if (node === undefined) {
    node = new Registry();
    collectDefaultMetrics({ register: node });
  }
  return node;
}

/** Counts from now on. */
export function createMetrics({ volley, lanes, role }: MetricsOptions): Metrics {
  const registry = new Registry();
  const common = ofNode();
  const info = new Gauge({
    name: 'volley_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'role'],
    registers: [registry],
  });
  info.set({ version, role }, 1);
  const end = countEvents(registry, volley.events, lanes);
  const fleet = fleetMetrics(() => volley.fleetSnapshot());
  return {
    contentType: registry.contentType,
    process: async () => `${await registry.metrics()}\n${await common.metrics()}`,
    fleet: () => fleet.text(),
    http: () => countRequests(registry),
    close: end,
  };
}
