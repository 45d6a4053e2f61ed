import { connect } from '../../../src/base/redis/connection.js';
import { startPrivateRedis } from '../../../src/base/redis/private-server.js';
import { seededRandom } from '../../../src/tools/simulator/rules/random.js';
import { scheduleReplaceRun } from '../../intake/schedules/replace-run.js';
import { ATTACKS } from '../attacks.js';
import { lateWritesRun } from '../late-writes.js';
import { runAttack } from '../run-scenario.js';
import type { Means } from './stage.js';

/** An attack without a history. */
type Other = (means: Omit<Means, 'times'> & { readonly times: number | undefined }) => Promise<{
  readonly problems: readonly string[];
  readonly [figure: string]: unknown;
}>;

const OTHERS: Readonly<Record<string, Other>> = {
  /** Schedules are removed, added again, and paused, while the processes that run them are stopped. `times`: schedules. */
  async schedules({ redis: { url }, times = 2_000, random }) {
    const redis = connect(url);
    try {
      const run = { redis, url, prefix: 'schedules', races: times, random };
      const { late, ...figures } = await scheduleReplaceRun(run);
      return { problems: late, ...figures };
    } finally {
      redis.disconnect();
    }
  },
  /** A process stands still for 15 s between its claims and its writes. `times`: stops. */
  async 'late-writes'({ times = 20, seed, note }) {
    const problems: string[] = [];
    const held = { late: 0, window: 0, suppressed: 0 };
    for (let at = 0; at < times; at += 1) {
      const outcome = await lateWritesRun(seededRandom(seed + at), at % 2 === 0);
      problems.push(...outcome.problems);
      for (const kind of ['late', 'window', 'suppressed'] as const) held[kind] += outcome.held[kind];
      note(`${at + 1} stops, ${problems.length} problems, held ${JSON.stringify(held)}`);
    }
    return { problems, held };
  },
};

export const ATTACK_NAMES: readonly string[] = [...ATTACKS.map(({ name }) => name), ...Object.keys(OTHERS)];
const SHOWN = 5;

/**
 * Runs an attack on a Redis of its own, which writes every change to disk before it answers. Prints what has happened, and returns whether
 * every promise was kept.
 */
export async function attack(
  name: string,
  times: number | undefined,
  seed: number,
  folder: string,
): Promise<boolean> {
  const began = performance.now();
  const redis = await startPrivateRedis({ appendfsync: 'always' });
  const means = { redis, seed, random: seededRandom(seed), note: (line: string) => console.error(line) };
  try {
    const { problems, ...figures } = await problemsOf(name, { ...means, times }, folder);
    console.log(JSON.stringify(figures));
    for (const what of problems.slice(0, SHOWN)) console.log(`  ${what}`);
    const result = problems.length === 0 ? 'no violations' : `FAILED: ${problems.length} violations`;
    console.log(`${result}, ${((performance.now() - began) / 1_000).toFixed(0)} s`);
    if (problems.length > 0)
      console.log(
        `to reproduce: npm run -s test:faults -- --attack ${name} --seed ${seed}${times === undefined ? '' : ` --times ${times}`}`,
      );
    return problems.length === 0;
  } finally {
    await redis.stop();
  }
}

async function problemsOf(name: string, means: Parameters<Other>[0], folder: string): ReturnType<Other> {
  const found = ATTACKS.find((one) => one.name === name);
  if (found === undefined)
    return (await OTHERS[name]?.(means)) ?? { problems: [`there is no attack ${name}`] };
  const { times = found.times.long } = means;
  means.note(`${times} ${found.times.of}`);
  const { violations, figures, shown, path } = await runAttack(found, { ...means, times }, folder);
  return { problems: violations.map(({ check, what }) => `${check}: ${what}`), ...figures, ...shown, path };
}
