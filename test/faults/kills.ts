import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { startPrivateRedis } from '../../src/base/redis/private-server.js';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { type KillOutcome, killRun } from '../end-to-end/kill-run.js';
import { outboxKillRun } from '../end-to-end/outbox-kill-run.js';
import { writeHistory } from './history.js';

/** Redis is killed once per 20 kills of worker processes. */
const WORKER_KILLS_PER_REDIS_KILL = 20;

/**
 * Kills worker processes, and Redis now and then, prints the result, and returns whether every check passed. The recovery
 * time is printed but not checked, because the processes that take over are killed before a lock has expired.
 */
export async function runKills(
  kills: number,
  seed: number,
  path: string,
  profile: 'v1' | 'v3',
): Promise<boolean> {
  const redis = await startPrivateRedis({ appendfsync: 'always' });
  const began = performance.now();
  try {
    const outcome = await killRun({
      lanes: 4,
      profile,
      recipients: 2_000,
      quota: 600,
      workers: ['send', 'send', 'follow-up', 'all'],
      workerKills: kills,
      redisKills: Math.floor(kills / WORKER_KILLS_PER_REDIS_KILL),
      everyMs: 600,
      latencyMs: 300,
      patienceMs: 180_000,
      redis,
      seed,
      random: seededRandom(seed),
      onProgress: (line) => console.error(`${((performance.now() - began) / 1000).toFixed(0)} s: ${line}`),
    });
    await mkdir(dirname(path), { recursive: true });
    await writeHistory(path, outcome.events);
    return print(outcome);
  } finally {
    await redis.stop();
  }
}

/** Kills worker processes while an outbox is filled, changed, and sent, prints the result, and returns whether every check passed. */
export async function runOutboxKills(kills: number, seed: number): Promise<boolean> {
  const server = await startPrivateRedis({ appendfsync: 'always' });
  try {
    const { problems, ...figures } = await outboxKillRun({
      redisUrl: server.url,
      prefix: 'outbox-kills',
      kills,
      random: seededRandom(seed),
      onProgress: (line) => console.error(line),
    });
    console.log(JSON.stringify(figures));
    for (const what of problems.slice(0, 10)) console.log(`  ${what}`);
    console.log(problems.length === 0 ? 'no violations' : `FAILED: ${problems.length} violations`);
    return problems.length === 0;
  } finally {
    await server.stop();
  }
}

function print({ figures, violations, recoveryMs, results, tookMs }: KillOutcome): boolean {
  const sorted = [...recoveryMs].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  const unbalanced = violations.filter(({ check }) => check === 'conservation').length;
  const { fullestWindow, ...counts } = figures;
  const rows = {
    ...counts,
    'fullest window': `${(100 * fullestWindow).toFixed(1)} %`,
    unbalanced,
    'recovery, ms': `median ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`,
    'results delivered': `${results.delivered}, ${results.repeated} of them again, after ${results.crashes} crashes of the reader`,
    'recipients learned': results.learned,
    took: `${(tookMs / 1000).toFixed(0)} s`,
  };
  for (const [name, value] of Object.entries(rows)) console.log(`${name}: ${value}`);
  for (const { check, what } of violations.slice(0, 10)) console.log(`  ${check}: ${what}`);
  for (const what of results.problems.slice(0, 10)) console.log(`  results: ${what}`);
  const isGood = violations.length === 0 && results.problems.length === 0;
  const count = violations.length + results.problems.length;
  console.log(isGood ? 'no violations' : `FAILED: ${count} violations`);
  return isGood;
}
