/*
 * Recurring campaigns:
 *
 *   npm run -s bench:schedules -- kills [kills]        one campaign per occurrence, although its processes are killed?
 *   npm run -s bench:schedules -- cost [schedules]     what many schedules cost Redis and a worker
 *
 * The kills are those of test/schedules/kill.test.ts, only more of them (default: 1,000). The cost is measured three times for two
 * minutes: without schedules, with daily ones that are spread over the day, and with hourly ones that are spread over the hour. Each
 * campaign has one recipient. The service cannot be reached, so that the cost of sending is left out.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Redis } from '../src/redis/connection.js';
import { keyNames } from '../src/redis/keys.js';
import { startPrivateRedis } from '../src/redis/private-server.js';
import type { Definition } from '../src/schedules/schedule.js';
import { scheduleStore } from '../src/schedules/store.js';
import { nextOccurrence } from '../src/schedules/timetable.js';
import { scheduleKillRun } from '../test/schedules/kill-run.js';
import { costBetween, meter, residentBytes, sum } from './scale/cost.js';

const PREFIX = 'volley';
const SETTLE_MS = 20_000;
const MEASURED_MS = 120_000;
const MINUTES_PER_DAY = 1_440;

/** A private Redis for the time of a run. */
async function withRedis<Result>(run: (redis: Redis, url: string, dir: string) => Promise<Result>) {
  const dir = await mkdtemp(join(tmpdir(), 'volley-schedules-'));
  const server = await startPrivateRedis({ dir, appendfsync: 'always' });
  const redis = connect(server.url);
  try {
    return await run(redis, server.url, dir);
  } finally {
    redis.disconnect();
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function measureKills(kills: number): Promise<boolean> {
  const outcome = await withRedis((redis, url) =>
    scheduleKillRun({
      redis,
      url,
      prefix: PREFIX,
      kills,
      program: resolve('test/schedules/sweeper.mjs'),
      onProgress: (line) => console.error(line),
    }),
  );
  const { created, skipped, missed, failed } = outcome.occurrences;
  const { campaigns, twice, passed, tookMs } = outcome;
  console.log(
    `${kills} kills in ${(tookMs / 1_000).toFixed(0)} s: ${passed} occurrences passed; ${created} created a campaign, ${missed} were missed, ${skipped} skipped, ${failed} failed; ${campaigns} campaigns, ${twice.length} occurrences with more than one`,
  );
  return campaigns === created && twice.length === 0 && created + missed === passed;
}

const TIMETABLES: readonly (readonly [name: string, cronOf: (at: number) => string])[] = [
  ['daily', (at) => `${at % 60} ${Math.floor((at % MINUTES_PER_DAY) / 60)} * * *`],
  ['hourly', (at) => `${at % 60} * * * *`],
];

async function addSchedules(redis: Redis, count: number, cronOf: (at: number) => string): Promise<void> {
  const store = scheduleStore(redis, keyNames(PREFIX));
  const now = await store.now();
  const add = async (at: number): Promise<void> => {
    const definition: Definition = {
      name: `schedule-${at}`,
      lane: 'default',
      cron: cronOf(at),
      zone: 'Europe/London',
      overlap: 'allow',
      catchUpMs: 3_600_000,
      source: { kind: 'inline', count: 1 },
      campaign: { message: `Hello ${at}`, sender: '12345' },
    };
    const createdBy = { kind: 'library', id: null, name: 'a benchmark' } as const;
    const next = nextOccurrence(definition, now);
    await store.add(definition.name, definition, [{ to: `+4477${10_000_000 + at}` }], { createdBy, next });
  };
  for (let at = 0; at < count; at += 1) await add(at);
}

async function measureCost(count: number, name: string, cronOf: (at: number) => string): Promise<void> {
  await withRedis(async (redis, url, dir) => {
    await addSchedules(redis, count, cronOf);
    const { PATH = '' } = process.env;
    const worker = spawn(process.execPath, [resolve('dist/workers/all.js')], {
      cwd: dir,
      env: {
        PATH,
        REDIS_URL: url,
        REDIS_PREFIX: PREFIX,
        API_KEY: 'k',
        HOURLY_QUOTA: '100',
        MESSAGING_BASE_URL: 'http://127.0.0.1:9',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const figures = meter({ nodes: [{ url }] });
    try {
      await new Promise<void>((ready, failed) => {
        createInterface({ input: worker.stderr })
          .on('line', (line) => line.includes('process.ready') && ready())
          .on('close', () => failed(new Error('the worker ended')));
      });
      await delay(SETTLE_MS);
      const pids = { worker: worker.pid === undefined ? [] : [worker.pid] };
      const before = await figures.read(pids);
      const campaigns = await redis.zcard(keyNames(PREFIX).campaigns);
      await delay(MEASURED_MS);
      const cost = costBetween(before, await figures.read(pids));
      const ran = (await redis.zcard(keyNames(PREFIX).campaigns)) - campaigns;
      const percent = (ms: number): string => `${((100 * ms) / MEASURED_MS).toFixed(2)} %`;
      const memory = worker.pid === undefined ? 0 : await residentBytes(worker.pid);
      console.log(
        `${count} schedules, ${name}: ${ran} campaigns in ${MEASURED_MS / 1_000} s; of a core: Redis ${percent(sum(cost.nodeMs))}, worker ${percent(cost.processMs['worker'] ?? 0)}; ${(cost.commands / (MEASURED_MS / 1_000)).toFixed(1)} commands/s; worker ${(memory / 2 ** 20).toFixed(0)} MB`,
      );
    } finally {
      worker.kill('SIGKILL');
      figures.close();
    }
  });
}

const [what, amount] = process.argv.slice(2);
const number = amount === undefined ? undefined : Number(amount);
if ((what !== 'kills' && what !== 'cost') || !(number === undefined || Number.isInteger(number))) {
  console.error('usage: bench:schedules kills|cost [number]');
  process.exitCode = 2;
} else if (what === 'kills') {
  process.exitCode = (await measureKills(number ?? 1_000)) ? 0 : 1;
} else {
  await measureCost(0, 'none', () => '');
  for (const [name, cronOf] of TIMETABLES) await measureCost(number ?? 10_000, name, cronOf);
}
