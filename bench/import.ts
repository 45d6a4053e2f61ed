/**
 * The cost of importing a million rows, from the file to the committed campaign: time, peak memory of the process, and
 * Redis bytes per recipient, with a shared and a personalised text.
 *
 *   REDIS_URL=redis://127.0.0.1:6379 npm run -s bench:import -- [rows]
 *
 * Each case runs in its own process, so that the peak memory is that of the case. The bench removes its data.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadLocalConfig } from '../src/base/config/index.js';
import { createEvents } from '../src/base/events/events.js';
import { connect, type Redis } from '../src/base/redis/connection.js';
import { keyNames } from '../src/base/redis/keys.js';
import { laneNamed, openLane } from '../src/engine/lane/lane.js';
import { suppression } from '../src/engine/suppression/suppression.js';
import { importCampaign } from '../src/intake/import/import-campaign.js';
import { TEXTS, writeList } from './list.js';

const [, , first = '1000000', file, text] = process.argv;
await (file === undefined || text === undefined ? runAll(Number(first)) : runOne(file, text));

async function runAll(rows: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-bench-'));
  try {
    const list = join(folder, 'list.csv');
    await writeList(list, rows);
    for (const [name, message] of Object.entries(TEXTS)) {
      const self = fileURLToPath(import.meta.url);
      const result = execFileSync(process.execPath, [self, String(rows), list, message], {
        encoding: 'utf8',
      });
      process.stdout.write(`${name.padEnd(14)} ${result}`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runOne(path: string, message: string): Promise<void> {
  const prefix = `bench-${process.pid}`;
  const redis = connect(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
  const keys = keyNames(prefix);
  const config = loadLocalConfig({ REDIS_PREFIX: prefix, HOURLY_QUOTA: '100000', SENDER_ADDRESS: '12345' });
  const events = createEvents({ level: 'silent' });
  const lanes = new Map(
    config.lanes.map((settings) => [
      settings.name,
      openLane(redis, keys, config, settings, events, Math.random),
    ]),
  );
  const before = await usedMemory(redis);
  const started = performance.now();
  const outcome = await importCampaign(
    {
      redis,
      keys,
      config,
      finder: { configured: async () => lanes },
      laneNamed: async (name) => laneNamed(lanes, name),
      events,
      suppression: suppression(redis, keys),
      clock: Date.now,
      random: Math.random,
      by: {
        actor: { kind: 'library', id: null, name: 'bench' },
        isLimited: false,
        authorise: async () => {},
        audited: (_operation, run) => run(),
      },
      launched: async () => {},
    },
    { recipients: path, message, again: true },
  );
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  const bytes = ((await usedMemory(redis)) - before) / outcome.recipientCount;
  process.stdout.write(
    `${seconds} s, peak RSS ${peak} MB, ${bytes.toFixed(1)} bytes per recipient; ${outcome.recipientCount} recipients\n`,
  );
  // The campaign has not ended, but no worker uses this prefix, so its data can be removed.
  for (const key of await redis.keys(`*${prefix}*`)) await redis.unlink(key);
  redis.disconnect();
}

/** The memory of Redis without client buffers. */
async function usedMemory(redis: Redis): Promise<number> {
  const stats = await redis.call('MEMORY', 'STATS');
  if (!Array.isArray(stats)) throw new TypeError('Redis returned no memory statistics');
  const at = (name: string): number => Number(stats[stats.indexOf(name) + 1]);
  return at('total.allocated') - at('clients.normal') - at('aof.buffer');
}
