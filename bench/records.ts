/**
 * Fetches call records while the process that does so is killed, and compares every file with that of the simulator. See
 * docs/call-records.md.
 *
 *   npm run -s bench:records -- [requests] [kills]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findServer } from '../src/base/redis/find-server.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { recordsKillRun } from '../test/call-records/kill-run.js';

const [requests = 1_000, kills = 3] = process.argv.slice(2).map(Number);
const program = await findServer();
if (program === undefined) throw new Error('this needs a redis-server on this machine');
const dir = await mkdtemp(join(tmpdir(), 'volley-bench-records-'));
const server = await startPrivateRedis({ dir, appendfsync: 'always', program });
try {
  const outcome = await recordsKillRun({
    redis: { url: server.url, prefix: 'records' },
    requests,
    kills,
    // This file runs compiled, in another folder.
    program: resolve('test/call-records/fetch-many.mjs'),
    onProgress: (line) => console.log(line),
  });
  console.log(JSON.stringify(outcome, null, 2));
  const isKept =
    outcome.lost.length === 0 &&
    outcome.twice.length === 0 &&
    outcome.maxInFlight === 1 &&
    outcome.completeAfterwards === requests &&
    Object.values(outcome.unknown).every((count) => count <= kills);
  process.exitCode = isKept ? 0 : 1;
} finally {
  await server.kill();
  await rm(dir, { recursive: true, force: true });
}
