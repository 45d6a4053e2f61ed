import { loadLocalConfig } from '../../src/config/index.js';
import { createEvents, type VolleyEvent } from '../../src/events/events.js';
import type { ImportDeps } from '../../src/import/import-campaign.js';
import { openLane } from '../../src/lane/lane.js';
import { suppression } from '../../src/recipients/suppression.js';
import type { Redis } from '../../src/redis/connection.js';
import { keyNames } from '../../src/redis/keys.js';
import { OPERATOR } from '../access/operator.js';

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
  const deps: ImportDeps = {
    redis,
    keys,
    config,
    lanes,
    events,
    suppression: suppression(redis, keys),
    clock: Date.now,
    random: Math.random,
    by: OPERATOR,
    launched: async (lane) => {
      woken.push(lane);
    },
  };
  return { keys, config, deps, emitted, woken, lane: 'default' };
}

/** A valid British mobile number for each integer from 0 to 9,999,999. */
export function mobile(number: number): string {
  return `+4477${String(10_000_000 + number)}`;
}
