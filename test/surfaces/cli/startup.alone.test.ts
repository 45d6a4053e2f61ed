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

/** Compares the fastest runs, because what else the machine does only slows them down. */
function ratioToBareNode(args: readonly string[]): number {
  const [own, bare]: [number[], number[]] = [[], []];
  for (let at = 0; at < RUNS; at += 1) {
    own.push(run([MAIN, ...args]));
    bare.push(run(['-e', '0']));
  }
  return Math.min(...own) / Math.min(...bare);
}

test.each([
  [['--version'], 2.5],
  [['send', '--help'], 3.5],
])('volley %j starts in at most %d times the time of bare Node', (args, most) => {
  const ratio = ratioToBareNode(args);
  expect(ratio).toBeLessThanOrEqual(most);
});
