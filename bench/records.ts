/**
 * Fetches call records while the process that does so is killed, and compares every file with that of the simulator. See
 * docs/call-records.md.
 *
 *   npm run -s bench:records -- [requests] [kills]
 */
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { recordsKillRun } from '../test/call-records/kill-run.js';

const [requests = 1_000, kills = 3] = process.argv.slice(2).map(Number);
const server = await startPrivateRedis({ appendfsync: 'always' });
try {
  const outcome = await recordsKillRun({
    redis: { url: server.url, prefix: 'records' },
    requests,
    kills,
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
  await server.stop();
}
