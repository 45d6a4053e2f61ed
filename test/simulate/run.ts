/**
 * The code and its scripts under a virtual clock and a random scheduler: each seed is a world of its own, and is the same
 * each time.
 *
 *   npm run -s test:simulate                                   seeds 0 to 9,999
 *   npm run -s test:simulate -- --from 100000 --seeds 30000    others
 *   npm run -s test:simulate -- --seed 17                      one of them with its trace, twice
 *   npm run -s test:simulate -- --traces                       all, with one hash of their traces
 *   npm run -s test:simulate -- --mutants                      whether each planted bug is seen
 */
import type { ProvidedRedis } from '../../src/redis/provide.js';
import { MUTANTS } from './mutants.js';
import { type Options, readOptions } from './options.js';
import { provideSimulationRedis } from './redis.js';
import { progressOf, summaryOf, violationOf } from './report.js';
import { Totals } from './results.js';
import { runMutant } from './run-mutant.js';
import { replay } from './run-worlds.js';
import { INVARIANTS } from './violation.js';
import { runInWorkers } from './workers.js';

// A signal is an end like any other: what was started is ended with it.
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
      return again(url, options.seed);
    case 'mutants':
      return mutants(url);
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

async function again(url: string, seed: number): Promise<number> {
  const [one, other] = [await replay(url, seed), await replay(url, seed)];
  console.log(one.trace.lines.join('\n'));
  const isSame = one.trace.digest === other.trace.digest;
  const { title = '', message = '' } = one.violation ?? {};
  if (one.violation !== undefined)
    for (const line of violationOf({ seed, violation: { title, message } })) console.log(line);
  console.log(
    `${one.steps} steps, ${(one.virtualMs / 3_600_000).toFixed(1)} virtual hours, trace ${one.trace.digest}`,
  );
  console.log(isSame ? 'the same a second time' : `NOT THE SAME a second time: trace ${other.trace.digest}`);
  return isSame && one.violation === undefined ? 0 : 1;
}

async function mutants(url: string): Promise<number> {
  let missed = 0;
  for (const mutant of MUTANTS) {
    const { tried, seen } = await runMutant(url, mutant);
    const isSeen = seen.length > 0 && seen.every(({ invariant }) => invariant === mutant.invariant);
    if (!isSeen) missed += 1;
    const [first] = seen;
    const what = first === undefined ? 'nothing' : `seed ${first.seed}: ${first.message.split('\n')[0]}`;
    console.log(
      `${isSeen ? 'seen' : 'NOT SEEN'} ${INVARIANTS[mutant.invariant]}: ${mutant.name} (${tried} seeds; ${what})`,
    );
  }
  console.log(`${MUTANTS.length - missed} of ${MUTANTS.length} planted bugs seen`);
  return missed === 0 ? 0 : 1;
}

function refuse(reason: string): number {
  console.error(reason);
  return 2;
}
