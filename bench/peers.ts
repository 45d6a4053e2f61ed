/**
 * Compares Volley with alternatives: the same list, at the same service, in the same run.
 *
 *   npm run bench               all rounds, at most 15 minutes; writes bench/README.md and docs/images/peers-*.svg
 *   npm run bench -- --smoke    less than a minute, tiny; writes to a temporary folder
 *
 * In a round all contestants run at the same time, each with two worker processes, its own API key and quota at one
 * simulator, and its own Redis. So they share the same conditions, and the quota is what limits them, as the load shows. The
 * starting order changes from round to round. All figures come from the simulator's logs (peers/record.ts) and from the
 * statistics of Redis.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONTESTANTS } from './peers/contestants.js';
import { runRound } from './peers/round.js';
import { FULL_ROUNDS, SMOKE_ROUNDS } from './peers/scenario.js';
import { type Played, write } from './peers/write.js';

const given = process.argv.slice(2);
const isSmoke = given.length === 1 && given[0] === '--smoke';
if (isSmoke || given.length === 0) {
  try {
    await play();
  } catch (error) {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = 1;
  }
} else {
  say(`unknown arguments: ${given.join(' ')}; the only option is --smoke`);
  process.exitCode = 2;
}

async function play(): Promise<void> {
  const scenarios = isSmoke ? SMOKE_ROUNDS : FULL_ROUNDS;
  const folder = await mkdtemp(join(tmpdir(), 'volley-peers-'));
  const began = performance.now();
  const rounds: Played[] = [];
  const loads: number[] = [];
  try {
    for (const [at, scenario] of scenarios.entries()) {
      const own = join(folder, String(at));
      await mkdir(own);
      const first = at % CONTESTANTS.length;
      const order = [...CONTESTANTS.slice(first), ...CONTESTANTS.slice(0, first)];
      const results = await runRound(order, scenario, own, say);
      rounds.push({ scenario, results });
      loads.push(loadavg()[0] ?? Number.NaN);
      const took = CONTESTANTS.map(
        ({ name }) => `${name} ${((results.get(name)?.tookMs ?? Number.NaN) / 1000).toFixed(1)} s`,
      );
      const minutes = ((performance.now() - began) / 60_000).toFixed(1);
      say(`round ${at + 1} of ${scenarios.length} done after ${minutes} min: ${took.join(', ')}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const root = isSmoke ? await mkdtemp(join(tmpdir(), 'volley-peers-smoke-')) : process.cwd();
  const load = `Load average ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.`;
  const text = await write(rounds, root, load);
  process.stdout.write(`${text}\n\nwritten to ${join(root, 'docs')}\n`);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
