/*
 * A process that looks for due schedules until it is killed:
 *
 *   node sweeper.mjs REDIS_URL PREFIX STARTED_AT [SPEED]
 *
 * Its clocks run SPEED times as fast as the machine's, from STARTED_AT on; default: 600, so that a minute lasts 100 ms. After SIGTERM, it finishes what it has
 * begun.
 */
import { systemAlarm, systemMachine } from '../../../dist/src/base/clock.js';
import { loadLocalConfig } from '../../../dist/src/base/config/index.js';
import { createEvents } from '../../../dist/src/base/events/events.js';
import { connect } from '../../../dist/src/base/redis/connection.js';
import { keyNames } from '../../../dist/src/base/redis/keys.js';
import { openLane } from '../../../dist/src/engine/lane/lane.js';
import { occurrenceDigest } from '../../../dist/src/engine/recipients/reservation.js';
import { suppression } from '../../../dist/src/engine/suppression/suppression.js';
import { importCampaign } from '../../../dist/src/intake/import/import-campaign.js';
import { scheduleStore } from '../../../dist/src/intake/schedules/store.js';
import { startScheduleSweep } from '../../../dist/src/intake/schedules/sweep.js';

/** So that an import whose process was killed soon makes room for the next one. */
const IMPORT_LEASE_MS = 300;

const [, , url, prefix, startedAt, speed = '600'] = process.argv;
const SPEED = Number(speed);
const redis = connect(url);
const keys = keyNames(prefix);
const config = loadLocalConfig({ REDIS_PREFIX: prefix, HOURLY_QUOTA: '100', SENDER_ADDRESS: '12345' });
const events = createEvents({ level: 'silent' });
const lanes = new Map(
  config.lanes.map((settings) => [
    settings.name,
    openLane(redis, keys, config, settings, events, Math.random),
  ]),
);
const start = Number(startedAt);
const store = scheduleStore(redis, keys, () => Math.floor(start + (Date.now() - start) * SPEED));

const sweep = startScheduleSweep(
  {
    redis,
    keys,
    store,
    events,
    retentionMs: 30 * 86_400_000,
    provided: new Map(),
    laneOf: (id) => (lanes.has(id) ? { name: id, window: undefined } : undefined),
    enqueue: (input, actor) =>
      importCampaign(
        {
          ...{ redis, keys, config, events, importLeaseMs: IMPORT_LEASE_MS },
          laneNamed: async (name) => lanes.get(name),
          suppression: suppression(redis, keys),
          clock: Date.now,
          random: Math.random,
          by: { actor, audited: (_operation, run) => run() },
          digestOf: occurrenceDigest,
          launched: async () => {},
        },
        input,
      ),
  },
  {
    clock: () => systemMachine.clock() * SPEED,
    monotonic: () => systemMachine.monotonic() * SPEED,
    uptime: () => systemMachine.uptime() * SPEED,
    alarm: (ms, ring) => systemAlarm(ms / SPEED, ring),
  },
);

process.once('SIGTERM', async () => {
  await sweep.stop();
  redis.disconnect();
});
