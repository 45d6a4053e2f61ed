/**
 * A campaign of 20,000 recipients, batches of one, during which 20 worker processes and 5 times Redis are killed at
 * random: every recipient accepted exactly once or unknown, and how soon the lane is served again.
 *
 *   npm run -s bench:kills -- [seed]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPrivateRedis } from '../src/redis/private-server.js';
import { seededRandom } from '../src/simulator/random.js';
import { killRun } from '../test/end-to-end/kill-run.js';

const WORKER_KILLS = 20;
const REDIS_KILLS = 5;
const seed = Number(process.argv[2] ?? 2026);

const dir = await mkdtemp(join(tmpdir(), 'volley-kill-run-'));
let server = await startPrivateRedis({ dir, appendfsync: 'always' });
const { port, url } = server;
const { password } = new URL(url);
const redis = {
  url,
  kill: () => server.kill(),
  restart: async () => {
    server = await startPrivateRedis({ dir, appendfsync: 'always', port, password });
  },
};

try {
  const began = performance.now();
  const { final, servedAgainMs, lost, unbalanced, ...figures } = await killRun({
    recipients: 20_000,
    workers: ['send', 'send', 'follow-up', 'follow-up'],
    workerKills: WORKER_KILLS,
    redisKills: REDIS_KILLS,
    everyMs: 4_000,
    latencyMs: 100,
    patienceMs: 180_000,
    redis,
    random: seededRandom(seed),
    say: (line) => console.error(`${((performance.now() - began) / 1000).toFixed(1)} s: ${line}`),
  });
  const sorted = [...servedAgainMs].sort((a, b) => a - b);
  console.log(JSON.stringify({ seed, ...figures, lost: lost.length, unbalanced: unbalanced.length }));
  console.log(`served again after a kill, ms: ${sorted.join(' ')}`);
  console.log(`${final.state}: ${JSON.stringify(final.recipients)}`);
  const isGood =
    figures.twice === 0 &&
    lost.length === 0 &&
    unbalanced.length === 0 &&
    figures.unknown <= 32 * (WORKER_KILLS + REDIS_KILLS) &&
    final.state === 'completed' &&
    Math.max(...servedAgainMs) <= 15_000;
  console.log(isGood ? 'all as promised' : 'NOT as promised');
  process.exitCode = isGood ? 0 : 1;
} finally {
  await server.stop();
  await rm(dir, { recursive: true, force: true });
}
