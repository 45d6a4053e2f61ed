/*
 * What a campaign of one recipient costs, as platforms create them:
 *
 *   npm run -s bench:enqueue -- [path of another build] [campaigns]
 *
 * Enqueues campaigns one at a time and 100 at a time, without workers, on a Redis with `appendfsync always`; then a worker sends and
 * completes them. It counts Redis commands, including those in scripts, and the memory that remains. Another build takes turns with
 * this one, so that both run on the same machine at the same load.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import pLimit from 'p-limit';
import { keyNames } from '../src/base/redis/keys.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import type * as Library from '../src/index.js';
import { startSimulatorProcess } from '../test/end-to-end/simulator-process.js';
import { costBetween, meter } from './scale/cost.js';
import { numbers } from './scale/sizes.js';

const ROUNDS = 3;
const CONCURRENT = 100;
const LANE = 'default';
const COMPLETED_WITHIN_MS = 300_000;

interface Figures {
  /** Campaigns per second, one at a time and {@link CONCURRENT} at a time. */
  readonly aloneRate: number;
  readonly concurrentRate: number;
  /** Redis commands per campaign. */
  readonly alone: number;
  readonly concurrent: number;
  /** Bytes of Redis memory per campaign: waiting, and completed. */
  readonly waitingBytes: number;
  readonly completedBytes: number;
  readonly often: string;
}

async function measure(build: string, campaigns: number): Promise<Figures> {
  const { createVolley, createEvents, loadConfig }: typeof Library = await import(
    pathToFileURL(join(build, 'dist/src/index.js')).href
  );
  const dir = await mkdtemp(join(tmpdir(), 'volley-enqueue-'));
  const redis = await startPrivateRedis({ dir, appendfsync: 'always' });
  const simulator = await startSimulatorProcess({
    keys: [{ key: 'key' }],
    magicRecipients: 'off',
    deliveryTime: 200,
  });
  const { PATH = '' } = process.env;
  const env = {
    PATH,
    REDIS_URL: redis.url,
    API_KEY: 'key',
    HOURLY_QUOTA: '10000000',
    MESSAGING_BASE_URL: simulator.messagingBaseUrl,
    SENDER_ADDRESS: '12345',
    FOLLOW_UP_FIRST_MS: '500',
    REDIS_MAY_LOSE: '0s',
  };
  const volley = createVolley({ config: loadConfig(env), events: createEvents({ level: 'silent' }) });
  const client = new Redis(redis.url);
  const keys = keyNames('volley');
  const figures = meter({ nodes: [{ url: redis.url }] });
  let next = 0;
  const enqueue = async (count: number, atATime: number) => {
    const limit = pLimit(atATime);
    const before = await figures.read();
    const began = performance.now();
    await Promise.all(
      Array.from(numbers(count, next), ({ to }) =>
        limit(async () => {
          const message = 'Your table is booked for tonight.';
          const made = await volley.enqueue({ recipients: [{ to }], message });
          if (made.outcome !== 'created') throw new Error(`a campaign was ${made.outcome}`);
        }),
      ),
    );
    const rate = (1_000 * count) / (performance.now() - began);
    next += count;
    const cost = costBetween(before, await figures.read());
    return { rate, each: cost.commands / count, often: cost.often };
  };
  /** The memory that the data takes, without the log of events, which does not grow further. */
  const memory = async (): Promise<number> => {
    const stats = await client.call('MEMORY', 'STATS');
    if (!Array.isArray(stats)) throw new TypeError('Redis returned no memory statistics');
    const at = (name: string): number => Number(stats[stats.indexOf(name) + 1]);
    const events = await Promise.all(
      [keys.events, '{volley-send}:send:events', '{volley-poll}:poll:events'].map((key) =>
        client.memory('USAGE', key, 'SAMPLES', 0),
      ),
    );
    const stream = events.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
    return at('total.allocated') - at('clients.normal') - at('aof.buffer') - stream;
  };
  const complete = async (): Promise<void> => {
    const worker = spawn(process.execPath, [join(build, 'dist/workers/all.js')], { cwd: dir, env });
    createInterface({ input: worker.stderr }).on('line', () => {});
    const deadline = performance.now() + COMPLETED_WITHIN_MS;
    while ((await client.zcard(keys.lane(LANE, 'ended'))) < next) {
      if (performance.now() > deadline) throw new Error('the campaigns were not completed in time');
      await delay(200);
    }
    worker.kill('SIGTERM');
    await new Promise((ended) => worker.once('exit', ended));
    await delay(500);
  };
  try {
    // The scripts are loaded, and what a lane needs once exists, before anything is measured.
    await enqueue(20, 1);
    await complete();
    const empty = await memory();
    const alone = await enqueue(campaigns, 1);
    const concurrent = await enqueue(campaigns, CONCURRENT);
    const waiting = await memory();
    await complete();
    const each = (bytes: number): number => (bytes - empty) / (2 * campaigns);
    return {
      aloneRate: alone.rate,
      concurrentRate: concurrent.rate,
      alone: alone.each,
      concurrent: concurrent.each,
      waitingBytes: each(waiting),
      completedBytes: each(await memory()),
      often: alone.often.map(([name, calls]) => `${name} ${(calls / campaigns).toFixed(1)}`).join(', '),
    };
  } finally {
    client.disconnect();
    figures.close();
    await volley.close();
    await simulator.stop();
    await redis.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

const [given, count = '2000'] = process.argv.slice(2);
const builds = ['.', ...(given === undefined ? [] : [given])].map((path) => resolve(path));
const results = new Map<string, Figures[]>(builds.map((build) => [build, []]));
for (let round = 0; round < ROUNDS; round += 1) {
  for (const build of builds) results.get(build)?.push(await measure(build, Number(count)));
}
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const columns: readonly (readonly [string, (figures: Figures) => number, number])[] = [
  ['enqueued per second, one at a time', (figures) => figures.aloneRate, 0],
  [`enqueued per second, ${CONCURRENT} at a time`, (figures) => figures.concurrentRate, 0],
  ['Redis commands each, one at a time', (figures) => figures.alone, 1],
  [`Redis commands each, ${CONCURRENT} at a time`, (figures) => figures.concurrent, 1],
  ['bytes each, waiting', (figures) => figures.waitingBytes, 0],
  ['bytes each, completed', (figures) => figures.completedBytes, 0],
];
process.stdout.write(
  `| median of ${ROUNDS} rounds | ${builds.join(' | ')} |\n|---|${'---|'.repeat(builds.length)}\n`,
);
for (const [name, of, digits] of columns) {
  const cells = builds.map((build) => median((results.get(build) ?? []).map(of)).toFixed(digits));
  process.stdout.write(`| ${name} | ${cells.join(' | ')} |\n`);
}
for (const build of builds) process.stdout.write(`\n${build}: ${results.get(build)?.[0]?.often}\n`);
