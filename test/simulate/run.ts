/**
 * Runs the code and its Lua scripts under a virtual clock and a random scheduler. Each seed is a separate world, and the
 * same seed always gives the same world. Scripted worlds (`scripted/`) do not depend on chance.
 *
 *   npm run -s test:simulate                                   run the scripted worlds and the seeds 0 to 9,999
 *   npm run -s test:simulate -- --from 100000 --seeds 30000    run other seeds
 *   npm run -s test:simulate -- --seed 17                      run one seed twice and print its trace
 *   npm run -s test:simulate -- --world split-batch-lost      run one scripted world twice and print its trace
 *   npm run -s test:simulate -- --traces                       run all worlds and print one hash of their traces
 *   npm run -s test:simulate -- --mutants                      check that every planted bug is caught
 */
import type { ProvidedRedis } from '../../src/base/redis/provide.js';
import { MUTANTS } from './mutants/index.js';
import type { Mutant } from './mutants/mutant.js';
import { runMutant } from './mutants/run-mutant.js';
import { type Options, readOptions } from './runner/options.js';
import { provideSimulationRedis } from './runner/redis.js';
import { progressOf, summaryOf, violationOf } from './runner/report.js';
import { Totals } from './runner/results.js';
import { replay } from './runner/run-worlds.js';
import { runInWorkers } from './runner/workers.js';
import { seededWorld } from './scenario/seeded-world.js';
import { SCRIPTED_WORLDS, scriptedNamed, scriptedWorld } from './scripted/index.js';
import { INVARIANTS } from './violation.js';
import type { WorldPlan } from './world.js';

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
      return replayTwice(url, seededWorld(options.seed));
    case 'world':
      return replayTwice(url, scriptedNamed(options.name));
    case 'mutants':
      return runMutants(url);
    default:
      return options satisfies never;
  }
}

async function run(url: string, range: Extract<Options, { kind: 'run' }>): Promise<number> {
  const began = performance.now();
  const totals = new Totals();
  const expected = SCRIPTED_WORLDS.length + range.seeds;
  const progress = progressOf(expected, process.stdout);
  await runInWorkers(url, range, (result) => {
    totals.add(result);
    progress(totals.worlds, totals.violated.length);
  });
  for (const line of summaryOf(totals, (performance.now() - began) / 1000)) console.log(line);
  return totals.violated.length === 0 && totals.worlds === expected ? 0 : 1;
}

async function replayTwice(url: string, plan: WorldPlan): Promise<number> {
  const [one, other] = [await replay(url, plan), await replay(url, plan)];
  console.log(one.trace.lines.join('\n'));
  const isSame = one.trace.digest === other.trace.digest;
  const { title = '', message = '' } = one.violation ?? {};
  if (one.violation !== undefined)
    for (const line of violationOf({ name: plan.name, violation: { title, message } })) console.log(line);
  console.log(
    `${one.steps} steps, ${(one.virtualMs / 3_600_000).toFixed(1)} virtual hours, trace ${one.trace.digest}`,
  );
  console.log(isSame ? 'the second run is identical' : `THE SECOND RUN DIFFERS: trace ${other.trace.digest}`);
  return isSame && one.violation === undefined ? 0 : 1;
}

async function runMutants(url: string): Promise<number> {
  let missed = 0;
  const planted: readonly (readonly [Mutant, Iterable<WorldPlan>?])[] = [
    ...MUTANTS.map((mutant) => [mutant] as const),
    ...SCRIPTED_WORLDS.map((world) => [world.bug, [scriptedWorld(world)]] as const),
  ];
  for (const [mutant, plans] of planted) {
    const { worlds, violations } = await runMutant(url, mutant, plans);
    const isCaught =
      violations.length > 0 && violations.every(({ invariant }) => invariant === mutant.invariant);
    if (!isCaught) missed += 1;
    const [first] = violations;
    const what = first === undefined ? 'no violation' : `${first.name}: ${first.message.split('\n')[0]}`;
    console.log(
      `${isCaught ? 'caught' : 'NOT CAUGHT'} ${INVARIANTS[mutant.invariant]}: ${mutant.name} (${worlds} worlds; ${what})`,
    );
  }
  console.log(`${planted.length - missed} of ${planted.length} planted bugs caught`);
  return missed === 0 ? 0 : 1;
}

function refuse(reason: string): number {
  console.error(reason);
  return 2;
}
