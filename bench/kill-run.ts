/**
 * Kills worker processes, and now and then Redis, while four lanes send. Checks that every recipient is accepted exactly once
 * or unknown, and measures how soon a lane is served again. The same as `test:faults -- --attack kills`.
 *
 *   npm run -s bench:kills -- [kills] [seed]
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attack } from '../test/faults/attacks/run-attack.js';

const [kills = 20, seed = 2026] = process.argv.slice(2).map(Number);
if (!Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed) || seed < 0) {
  console.error('usage: bench:kills [kills] [seed], both whole numbers');
  process.exitCode = 2;
} else {
  process.exitCode = (await attack('kills', kills, seed, join(tmpdir(), 'volley-faults'))) ? 0 : 1;
}
