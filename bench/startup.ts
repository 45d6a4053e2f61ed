/*
 * How long commands take to start, as ratios to `node -e 0`:
 *
 *   npm run -s bench:startup -- [path of another build's dist/src/surfaces/cli/main.js]
 *
 * The runs of all commands alternate, so that a ratio compares runs of the same moment. With another build, its commands run
 * between those of this one. `volley list` reads an empty Redis on this machine.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startPrivateRedis } from '../src/base/redis/private-server.js';

const RUNS = 15;
const COMMANDS = [['--version'], ['send', '--help'], ['list']];

const dir = mkdtempSync(join(tmpdir(), 'volley-startup-'));
const redis = await startPrivateRedis({ dir, appendfsync: 'everysec' });
const { PATH = '' } = process.env;
const env = { PATH, REDIS_URL: redis.url, API_KEY: 'key' };

/** Wall time of one process, in ms. */
function run(args: readonly string[]): number {
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: dir, env });
  if (status !== 0) throw new Error(`node ${args.join(' ')} exited with ${status}: ${stderr}`);
  return performance.now() - began;
}

const builds = ['dist/src/surfaces/cli/main.js', ...process.argv.slice(2, 3)].map((path) => resolve(path));
const cases = COMMANDS.flatMap((command) =>
  builds.map((main) => ({ command, main, ratios: [] as number[] })),
);
const bare: number[] = [];
for (let round = -1; round < RUNS; round += 1) {
  for (const { command, main, ratios } of cases) {
    const base = run(['-e', '0']);
    const ratio = run([main, ...command]) / base;
    // The first round fills the file cache.
    if (round < 0) continue;
    bare.push(base);
    ratios.push(ratio);
  }
}
await redis.stop();
rmSync(dir, { recursive: true, force: true });

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
console.log(`node -e 0: ${median(bare).toFixed(0)} ms (median of ${bare.length})`);
for (const { command, main, ratios } of cases) {
  const which = main === builds[0] ? '' : `  (${main})`;
  console.log(`volley ${command.join(' ').padEnd(12)} ${median(ratios).toFixed(1).padStart(5)} ×${which}`);
}
