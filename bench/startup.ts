/*
 * How long a command takes to start, compared with Node without a program:
 *
 *   npm run build && npm run bench -- startup [runs]
 *
 * Starts each command and bare Node by turns, and compares the fastest run of each, because whatever else the machine does only slows them
 * down. `test/surfaces/cli/startup.test.ts` checks how much code a command loads.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const MAIN = resolve('dist/src/surfaces/cli/main.js');
const COMMANDS = [['--version'], ['send', '--help'], ['--help']];
const DEFAULT_RUNS = 15;

/** Time of one process, ms. */
function run(args: readonly string[]): number {
  const began = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { env: {}, encoding: 'utf8' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} exited with ${status}: ${stderr}`);
  return performance.now() - began;
}

const [, , runs = DEFAULT_RUNS] = process.argv;
for (const command of COMMANDS) {
  const [own, bare]: [number[], number[]] = [[], []];
  for (let at = 0; at < Number(runs); at += 1) {
    own.push(run([MAIN, ...command]));
    bare.push(run(['-e', '0']));
  }
  const [fastest, ofNode] = [Math.min(...own), Math.min(...bare)];
  process.stdout.write(
    `volley ${command.join(' ')}: ${fastest.toFixed(0)} ms, ${(fastest / ofNode).toFixed(1)} times bare Node (${ofNode.toFixed(0)} ms)\n`,
  );
}
