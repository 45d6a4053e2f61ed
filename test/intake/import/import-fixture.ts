import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import type { Redis } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { laneNamed, openLane } from '../../../src/engine/lane/lane.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import type { ImportDeps } from '../../../src/intake/import/import-campaign.js';
import { outboxResults } from '../../../src/intake/outbox/views/outbox-results.js';
import { outboxSearch } from '../../../src/intake/outbox/views/outbox-search.js';
import type { OutboxSearch } from '../../../src/reporting/outbox-search.js';
import type { OutboxResults } from '../../../src/reporting/results-reader.js';
import { OPERATOR } from '../../app/access/operator.js';
import { storedLane } from '../../scene/stored.js';

/** Everything an import needs, on a real Redis, with one lane of 100 requests per hour. */
export function importFixture(redis: Redis, prefix: string, environment: Record<string, string> = {}) {
  const keys = keyNames(prefix);
  const config = loadLocalConfig({
    REDIS_PREFIX: prefix,
    HOURLY_QUOTA: '100',
    SENDER_ADDRESS: '12345',
    DEFAULT_COUNTRY: 'GB',
    ...environment,
  });
  const emitted: VolleyEvent[] = [];
  const woken: string[] = [];
  const events = createEvents({ level: 'silent' });
  events.onAny((event) => emitted.push(event));
  const lanes = new Map(
    config.lanes.map((settings) => [
      settings.name,
      openLane(redis, keys, config, settings, events, Math.random),
    ]),
  );
  const deps: ImportDeps & { readonly outboxes: OutboxResults & OutboxSearch } = {
    redis,
    keys,
    config,
    finder: { configured: async () => lanes },
    laneNamed: async (name) => laneNamed(lanes, name),
    events,
    suppression: suppression(redis, keys),
    clock: Date.now,
    random: Math.random,
    by: OPERATOR,
    outboxes: { ...outboxResults(redis, keys), ...outboxSearch(redis, keys) },
    launched: async (lane) => {
      woken.push(lane);
    },
  };
  const lane = 'default';
  const stored = storedLane({ redis, keys, id: lane });
  return { keys, config, lanes, deps, emitted, woken, lane, stored };
}

/** A valid British mobile number for each integer from 0 to 9,999,999. */
export function mobile(number: number): string {
  return `+4477${String(10_000_000 + number)}`;
}
