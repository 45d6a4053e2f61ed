/**
 * Kills worker processes, and now and then Redis, while four lanes send. Checks that every recipient is accepted exactly once
 * or unknown, and measures how soon a lane is served again. The same as `test:faults -- --kills`.
 *
 *   npm run -s bench:kills -- [kills] [seed]
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runKills } from '../test/faults/kills.js';

const [kills = 20, seed = 2026] = process.argv.slice(2).map(Number);
if (!Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed) || seed < 0) {
  console.error('usage: bench:kills [kills] [seed], both whole numbers');
  process.exitCode = 2;
} else {
  const path = join(tmpdir(), 'volley-faults', `kills-${seed}.ndjson`);
  process.exitCode = (await runKills(kills, seed, path, 'v1')) ? 0 : 1;
  console.log(`history: ${path}`);
}
