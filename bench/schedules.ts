/*
 * Recurring campaigns:
 *
 *   npm run -s bench:schedules -- kills [kills]        one campaign per occurrence, although its processes are killed?
 *   npm run -s bench:schedules -- cost [schedules]     what many schedules cost Redis and a worker
 *   npm run -s bench:schedules -- profile [schedules]  what an occurrence costs, by command of Redis and by code of the worker
 *
 * The kills are those of test/intake/schedules/kill.test.ts, only more of them (default: 1,000). The cost is measured three times for two
 * minutes: without schedules, with daily ones that are spread over the day, and with hourly ones that are spread over the hour. It begins
 * when all that became due before has run. Each campaign has one recipient. The service cannot be reached, so that the cost of sending is
 * left out. The profile is of schedules (default: 600) that are due every minute, for two minutes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, type Redis } from '../src/base/redis/connection.js';
import { keyNames } from '../src/base/redis/keys.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import type { Definition } from '../src/intake/schedules/schedule.js';
import { scheduleStore } from '../src/intake/schedules/store.js';
import { nextOccurrence } from '../src/intake/schedules/timetable.js';
import { scheduleKillRun } from '../test/intake/schedules/kill-run.js';
import { byOwner, type Frame, readProfile } from './profile/read.js';
import { costBetween, meter, residentBytes, sum } from './scale/cost.js';

const PREFIX = 'volley';
const SETTLE_MS = 20_000;
const MEASURED_MS = 120_000;
const PROFILED_MS = 120_000;
/** The profile lists so many packages, and so many functions of Volley. */
const [OWNERS, FUNCTIONS] = [15, 30];
const MINUTE_MS = 60_000;
/** Measuring begins so long before the occurrences of a minute. */
const BEFORE_MINUTE_MS = 20_000;
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
      source: { kind: 'inline', recipientCount: 1 },
      campaign: { message: `Hello ${at}`, sender: '12345' },
    };
    const createdBy = { kind: 'library', id: null, name: 'a benchmark' } as const;
    const next = nextOccurrence(definition, now);
    await store.add(definition.name, definition, [{ to: `+4477${10_000_000 + at}` }], { createdBy, next });
  };
  for (let at = 0; at < count; at += 1) await add(at);
}

interface Running {
  readonly redis: Redis;
  readonly worker: ChildProcess;
  readonly figures: ReturnType<typeof meter>;
  readonly dir: string;
  /** Of a worker that runs these schedules, and has caught up with them. */
  readonly pids: { readonly worker: readonly number[] };
}

/** Runs a worker with schedules until `run` ends. */
async function withWorker(
  count: number,
  cronOf: (at: number) => string,
  parameters: readonly string[],
  run: (running: Running) => Promise<void>,
): Promise<void> {
  await withRedis(async (redis, url, dir) => {
    await addSchedules(redis, count, cronOf);
    const { PATH = '' } = process.env;
    const worker = spawn(process.execPath, [...parameters, resolve('dist/workers/all.js')], {
      cwd: dir,
      env: {
        PATH,
        REDIS_URL: url,
        REDIS_PREFIX: PREFIX,
        API_KEY: 'k',
        HOURLY_QUOTA: '100',
        MESSAGING_BASE_URL: 'http://127.0.0.1:9',
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const figures = meter({ nodes: [{ url }] });
    try {
      await new Promise<void>((ready, failed) => {
        if (worker.stderr === null) throw new Error('the worker has no log');
        createInterface({ input: worker.stderr })
          .on('line', (line) => line.includes('process.ready') && ready())
          .on('close', () => failed(new Error('the worker ended')));
      });
      await delay(SETTLE_MS);
      while ((await redis.zcount(keyNames(PREFIX).schedules.due, 0, Date.now())) > 0) await delay(1_000);
      // Occurrences are due when a minute begins.
      await delay(MINUTE_MS - ((Date.now() + BEFORE_MINUTE_MS) % MINUTE_MS));
      await run({
        redis,
        worker,
        figures,
        dir,
        pids: { worker: worker.pid === undefined ? [] : [worker.pid] },
      });
    } finally {
      worker.kill('SIGKILL');
      figures.close();
    }
  });
}

async function measureCost(count: number, name: string, cronOf: (at: number) => string): Promise<void> {
  await withWorker(count, cronOf, [], async ({ redis, worker, figures, pids }) => {
    const before = await figures.read(pids);
    const campaigns = await redis.zcard(keyNames(PREFIX).campaigns);
    await delay(MEASURED_MS);
    const cost = costBetween(before, await figures.read(pids));
    const ran = (await redis.zcard(keyNames(PREFIX).campaigns)) - campaigns;
    const percent = (ms: number): string => `${((100 * ms) / MEASURED_MS).toFixed(2)} %`;
    const memory = worker.pid === undefined ? 0 : await residentBytes(worker.pid);
    console.log(
      `${count} schedules, ${name}: ${ran} campaigns in ${MEASURED_MS / 1_000} s; of a core: Redis ${percent(sum(cost.nodeMs))}, worker ${percent(cost.processMs['worker'] ?? 0)}; ${(cost.commands / (MEASURED_MS / 1_000)).toFixed(1)} commands/s; worker ${(memory / 2 ** 20).toFixed(0)} MB; load ${loadavg()[0]?.toFixed(1)}`,
    );
  });
}

/** The time in each function without its callees, largest first. */
function alone(root: Frame): [name: string, microseconds: number][] {
  const sums = new Map<string, number>();
  const add = ({ name, owner, own, calls }: Frame): void => {
    sums.set(`${name}, ${owner}`, (sums.get(`${name}, ${owner}`) ?? 0) + own);
    for (const call of calls) add(call);
  };
  add(root);
  return [...sums].sort(([, a], [, b]) => b - a);
}

/** The time in each function of Volley and its callees, largest first. */
function withCallees(root: Frame): [name: string, microseconds: number][] {
  const sums = new Map<string, number>();
  const add = ({ name, owner, total, calls }: Frame, callers: ReadonlySet<string>): void => {
    const isCounted = owner.startsWith('volley') && !callers.has(name);
    if (isCounted) sums.set(name, (sums.get(name) ?? 0) + total);
    for (const call of calls) add(call, isCounted ? new Set([...callers, name]) : callers);
  };
  add(root, new Set());
  return [...sums].sort(([, a], [, b]) => b - a);
}

async function profileOccurrences(count: number): Promise<void> {
  const sampler = ['--import', fileURLToPath(new URL('./profile/sampler.js', import.meta.url))];
  await withWorker(
    count,
    () => '* * * * *',
    sampler,
    async ({ redis, worker, figures, dir, pids }) => {
      const request = async (message: string | { profileTo: string }): Promise<void> => {
        const answer = once(worker, 'message');
        worker.send(message);
        await answer;
      };
      const file = join(dir, 'worker.cpuprofile');
      await request('profile');
      const before = await figures.read(pids);
      const campaigns = await redis.zcard(keyNames(PREFIX).campaigns);
      await delay(PROFILED_MS);
      const cost = costBetween(before, await figures.read(pids));
      const ran = (await redis.zcard(keyNames(PREFIX).campaigns)) - campaigns;
      await request({ profileTo: file });
      console.log(
        `${ran} occurrences in ${PROFILED_MS / 1_000} s; each with its share of what the processes do otherwise: Redis ${(sum(cost.nodeMs) / ran).toFixed(2)} ms, worker ${((cost.processMs['worker'] ?? 0) / ran).toFixed(2)} ms, ${(cost.commands / ran).toFixed(1)} commands: ${cost.often.map(([name, calls]) => `${name} ${(calls / ran).toFixed(1)}`).join(', ')}`,
      );
      const root = readProfile(await readFile(file, 'utf8'));
      const line = (name: string, time: number): string =>
        `${(time / ran).toFixed(1).padStart(8)} µs  ${name}`;
      console.log('in the functions of:');
      for (const [owner, time] of byOwner(root).slice(0, OWNERS)) console.log(line(owner, time));
      console.log('in the functions themselves:');
      for (const [name, time] of alone(root).slice(0, FUNCTIONS)) console.log(line(name, time));
      console.log('in functions of Volley and what they call:');
      for (const [name, time] of withCallees(root).slice(0, FUNCTIONS)) console.log(line(name, time));
    },
  );
}

const [what, amount] = process.argv.slice(2);
const number = amount === undefined ? undefined : Number(amount);
if (
  (what !== 'kills' && what !== 'cost' && what !== 'profile') ||
  !(number === undefined || Number.isInteger(number))
) {
  console.error('usage: bench:schedules kills|cost|profile [number]');
  process.exitCode = 2;
} else if (what === 'kills') {
  process.exitCode = (await measureKills(number ?? 1_000)) ? 0 : 1;
} else if (what === 'profile') {
  await profileOccurrences(number ?? 600);
} else {
  await measureCost(0, 'none', () => '');
  for (const [name, cronOf] of TIMETABLES) await measureCost(number ?? 10_000, name, cronOf);
}
