/*
 * What lanes cost that have nothing to do:
 *
 *   npm run bench -- idle [path of another build]
 *
 * Two worker processes serve 300 and then 10,000 lanes without campaigns. After a pause for the check at their start, it counts for
 * half a minute: Redis commands, including those in scripts, and CPU time. With another build, its workers take their turn.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { costBetween, meter } from './cost.js';

const LANES = [300, 10_000];
const WORKERS = 2;
const SETTLE_MS = 20_000;
const MEASURED_MS = 30_000;

async function measure(build: string, lanes: number): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'volley-idle-'));
  const redis = await startPrivateRedis({ dir, appendfsync: 'everysec' });
  const lanesFile = join(dir, 'lanes.json');
  const own = Array.from({ length: lanes }, (_, at) => ({
    name: `lane-${at}`,
    apiKey: `key-${at}`,
    hourlyQuota: 100,
  }));
  await writeFile(lanesFile, JSON.stringify({ lanes: own }));
  const { PATH = '' } = process.env;
  const env = {
    PATH,
    REDIS_URL: redis.url,
    LANES_FILE: lanesFile,
    MESSAGING_BASE_URL: 'http://127.0.0.1:9',
    REDIS_MAY_LOSE: '0s',
  };
  const workers = Array.from({ length: WORKERS }, () =>
    spawn(process.execPath, [join(build, 'dist/workers/all.js')], { cwd: dir, env }),
  );
  const figures = meter(redis.url);
  try {
    await Promise.all(workers.map(isReady));
    await delay(SETTLE_MS);
    const pids = workers.flatMap(({ pid }) => pid ?? []);
    const before = await figures.read(pids);
    await delay(MEASURED_MS);
    const cost = costBetween(before, await figures.read(pids));
    const perSecond = cost.commands / (MEASURED_MS / 1_000);
    const percent = (ms: number): string => `${((100 * ms) / MEASURED_MS).toFixed(1)} %`;
    process.stdout.write(
      `${lanes} lanes: ${perSecond.toFixed(1)} commands/s, ${(perSecond / lanes).toFixed(3)} per lane; CPU of one core: Redis ${percent(cost.redisMs)}, both workers ${percent(cost.processMs)}  (${build})\n`,
    );
  } finally {
    for (const worker of workers) worker.kill('SIGKILL');
    figures.close();
    await redis.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

/** Resolves when the worker logs that it is ready; rejects if it ends before. */
function isReady({ stderr }: ChildProcessWithoutNullStreams): Promise<void> {
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    createInterface({ input: stderr })
      .on('line', (line) => {
        lines.push(line);
        if (line.includes('process.ready')) resolve();
      })
      .on('close', () => reject(new Error(`a worker ended: ${lines.join('\n')}`)));
  });
}

for (const lanes of LANES) {
  for (const build of ['.', ...process.argv.slice(2, 3)]) await measure(resolve(build), lanes);
}
