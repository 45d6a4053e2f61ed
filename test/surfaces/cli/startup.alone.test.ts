import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../../dist/src/surfaces/cli/main.js', import.meta.url));
const RUNS = 15;

/** Time of one process, ms. */
function run(args: readonly string[]): number {
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { env: {}, encoding: 'utf8' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} exited with ${status}: ${stderr}`);
  return performance.now() - began;
}

/** Neighbouring runs are compared, because the load of the machine drifts. */
function ratioToBareNode(args: readonly string[]): number {
  // The first run fills the file cache.
  run([MAIN, ...args]);
  const ratios = Array.from({ length: RUNS }, () => run([MAIN, ...args]) / run(['-e', '0']));
  return ratios.sort((a, b) => a - b)[RUNS >> 1] ?? Number.NaN;
}

test.each([
  [['--version'], 2.5],
  [['send', '--help'], 3.5],
])('volley %j starts in at most %d times the time of bare Node', (args, most) => {
  const ratio = ratioToBareNode(args);
  expect(ratio).toBeLessThanOrEqual(most);
});
