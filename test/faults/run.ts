/**
 * Runs real processes on a real Redis under faults. What the service received and what Volley reported is recorded in a
 * history, and the checks use nothing else.
 *
 *   npm run -s test:faults                                   run every scenario once
 *   npm run -s test:faults -- --seed 17 --only redis-cut     run one scenario with this seed
 *   npm run -s test:faults -- --runs 20                      run seeds 1 to 20
 *   npm run -s test:faults -- --check FILE                   check a recorded history
 *   npm run -s test:faults -- --attack kills --times 1000    kill processes for about a quarter of an hour, and other attacks: see attacks.ts
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { obtainServer } from '../../src/base/redis/find-server.js';
import { attack } from './attacks/run-attack.js';
import { violationsOf } from './checker.js';
import { figuresOf } from './figures.js';
import { readHistory } from './history.js';
import { type Options, readOptions } from './options.js';
import { type Outcome, runScenario } from './run-scenario.js';

const folder = join(tmpdir(), 'volley-faults');
const SHOWN_VIOLATIONS = 5;

// Exit on a signal, so that the processes that were started are stopped.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (typeof options === 'string') return refuse(options);
  if (options.check !== undefined) return check(options.check);
  // The fault scenarios start their own Redis.
  const missing = await obtainServer().then(
    () => null,
    (error: Error) => error.message,
  );
  if (missing !== null) return refuse(missing);
  if (options.attack !== undefined) {
    const isGood = await attack(options.attack, options.times, options.seeds[0] ?? 1, folder);
    return isGood ? 0 : 1;
  }
  return run(options);
}

async function run({ scenarios, seeds, concurrency }: Options): Promise<number> {
  const began = performance.now();
  const limit = pLimit(concurrency);
  const possible = await Promise.all(
    scenarios.map(async (scenario) => (await scenario.isPossible?.()) ?? true),
  );
  for (const { name, needs = '' } of scenarios.filter((_, at) => !possible[at]))
    console.log(`skipped ${name}: it needs ${needs}`);
  const runs = seeds.flatMap((seed) =>
    scenarios.filter((_, at) => possible[at]).map((scenario) => ({ seed, scenario })),
  );
  let failed = 0;
  await Promise.all(
    runs.map(({ scenario, seed }) =>
      limit(async () => {
        const outcome = await runScenario(scenario, seed, folder).catch((error: unknown) => error);
        if (!isOutcome(outcome)) {
          failed += 1;
          console.log(`FAILED ${scenario.name}, seed ${seed}: ${String(outcome)}`);
        } else {
          if (outcome.violations.length > 0) failed += 1;
          print(outcome);
        }
      }),
    ),
  );
  const took = ((performance.now() - began) / 1000).toFixed(0);
  console.log(`${runs.length - failed} of ${runs.length} scenarios passed, ${took} s`);
  return failed === 0 ? 0 : 1;
}

function isOutcome(outcome: unknown): outcome is Outcome {
  return typeof outcome === 'object' && outcome !== null && 'violations' in outcome;
}

function print({ name, seed, violations, figures, path, tookMs }: Outcome): void {
  const { faults, recipients, once, twice, unknown, unknownAccepted, fullestWindow } = figures;
  const result = violations.length === 0 ? 'ok' : 'FAILED';
  console.log(
    `${result} ${name}, seed ${seed}: ${faults} faults, ${recipients} recipients, ${once} accepted once, ` +
      `${twice} twice, ${unknown} unknown (${unknownAccepted} accepted), fullest window ` +
      `${(100 * fullestWindow).toFixed(0)} %, ${(tookMs / 1000).toFixed(0)} s`,
  );
  if (violations.length === 0) return;
  show(violations);
  console.log(`  history: ${path}`);
  console.log(`  to reproduce: npm run -s test:faults -- --only ${name} --seed ${seed}`);
}

async function check(path: string): Promise<number> {
  const events = await readHistory(path).catch((error: Error) => error);
  if (events instanceof Error) return refuse(events.message);
  const violations = violationsOf(events);
  console.log(JSON.stringify(figuresOf(events)));
  show(violations);
  console.log(violations.length === 0 ? 'no violations' : `${violations.length} violations`);
  return violations.length === 0 ? 0 : 1;
}

function show(violations: Outcome['violations']): void {
  for (const { check: name, what } of violations.slice(0, SHOWN_VIOLATIONS))
    console.log(`  ${name}: ${what}`);
  if (violations.length > SHOWN_VIOLATIONS) console.log(`  and ${violations.length - SHOWN_VIOLATIONS} more`);
}

function refuse(reason: string): number {
  console.error(reason);
  return 2;
}
