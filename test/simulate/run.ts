/**
 * Runs the code and its Lua scripts under a virtual clock and a random scheduler. Each seed is a separate world, and the
 * same seed always gives the same world.
 *
 *   npm run -s test:simulate                                   run seeds 0 to 9,999
 *   npm run -s test:simulate -- --from 100000 --seeds 30000    run other seeds
 *   npm run -s test:simulate -- --seed 17                      run one seed twice and print its trace
 *   npm run -s test:simulate -- --traces                       run all seeds and print one hash of their traces
 *   npm run -s test:simulate -- --mutants                      check that every planted bug is caught
 */
import type { ProvidedRedis } from '../../src/base/redis/provide.js';
import { MUTANTS } from './mutants.js';
import { type Options, readOptions } from './options.js';
import { provideSimulationRedis } from './redis.js';
import { progressOf, summaryOf, violationOf } from './report.js';
import { Totals } from './results.js';
import { runMutant } from './run-mutant.js';
import { replay } from './run-worlds.js';
import { INVARIANTS } from './violation.js';
import { runInWorkers } from './workers.js';

// Exit on a signal, so that the private Redis server and the workers are stopped.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (typeof options === 'string') return refuse(options);
  const redis = await provideSimulationRedis((line) => console.error(line)).catch((error: Error) => error);
  if (redis instanceof Error) return refuse(redis.message);
  try {
    return await perform(options, redis);
  } finally {
    await redis.stop();
  }
}

async function perform(options: Options, { url }: ProvidedRedis): Promise<number> {
  switch (options.kind) {
    case 'run':
      return run(url, options);
    case 'replay':
      return replayTwice(url, options.seed);
    case 'mutants':
      return runMutants(url);
    default:
      return options satisfies never;
  }
}

async function run(url: string, range: Extract<Options, { kind: 'run' }>): Promise<number> {
  const began = performance.now();
  const totals = new Totals();
  const progress = progressOf(range.seeds, process.stdout);
  await runInWorkers(url, range, (result) => {
    totals.add(result);
    progress(totals.seeds, totals.violated.length);
  });
  for (const line of summaryOf(totals, (performance.now() - began) / 1000)) console.log(line);
  return totals.violated.length === 0 && totals.seeds === range.seeds ? 0 : 1;
}

async function replayTwice(url: string, seed: number): Promise<number> {
  const [one, other] = [await replay(url, seed), await replay(url, seed)];
  console.log(one.trace.lines.join('\n'));
  const isSame = one.trace.digest === other.trace.digest;
  const { title = '', message = '' } = one.violation ?? {};
  if (one.violation !== undefined)
    for (const line of violationOf({ seed, violation: { title, message } })) console.log(line);
  console.log(
    `${one.steps} steps, ${(one.virtualMs / 3_600_000).toFixed(1)} virtual hours, trace ${one.trace.digest}`,
  );
  console.log(isSame ? 'the second run is identical' : `THE SECOND RUN DIFFERS: trace ${other.trace.digest}`);
  return isSame && one.violation === undefined ? 0 : 1;
}

async function runMutants(url: string): Promise<number> {
  let missed = 0;
  for (const mutant of MUTANTS) {
    const { seeds, violations } = await runMutant(url, mutant);
    const isCaught =
      violations.length > 0 && violations.every(({ invariant }) => invariant === mutant.invariant);
    if (!isCaught) missed += 1;
    const [first] = violations;
    const what = first === undefined ? 'no violation' : `seed ${first.seed}: ${first.message.split('\n')[0]}`;
    console.log(
      `${isCaught ? 'caught' : 'NOT CAUGHT'} ${INVARIANTS[mutant.invariant]}: ${mutant.name} (${seeds} seeds; ${what})`,
    );
  }
  console.log(`${MUTANTS.length - missed} of ${MUTANTS.length} planted bugs caught`);
  return missed === 0 ? 0 : 1;
}

function refuse(reason: string): number {
  console.error(reason);
  return 2;
}
