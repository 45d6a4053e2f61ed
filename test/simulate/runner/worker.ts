import { seededWorld } from '../scenario/seeded-world.js';
import { SCRIPTED_WORLDS, scriptedWorld } from '../scripted/index.js';
import type { WorldPlan } from '../world.js';
import { type Result, resultOf } from './results.js';
import { runWorlds } from './run-worlds.js';

/** The worlds of one worker process: every `stride`-th of the scripted worlds and the seeds, from the place `first` on. */
export interface Share {
  readonly redisUrl: string;
  readonly first: number;
  readonly stride: number;
  readonly from: number;
  readonly seeds: number;
  /** Whether to trace each world. */
  readonly traces: boolean;
}

const RESULTS_PER_MESSAGE = 25;

function* plansOf({ first, stride, from, seeds }: Share): Iterable<WorldPlan> {
  for (let place = first; place < SCRIPTED_WORLDS.length + seeds; place += stride) {
    const scripted = SCRIPTED_WORLDS[place];
    yield scripted === undefined
      ? seededWorld(from + place - SCRIPTED_WORLDS.length)
      : scriptedWorld(scripted);
  }
}

async function work(share: Share): Promise<void> {
  let results: Result[] = [];
  const report = (): void => {
    process.send?.(results);
    results = [];
  };
  await runWorlds({
    redisUrl: share.redisUrl,
    plans: plansOf(share),
    isTraced: share.traces,
    onOutcome(outcome) {
      results.push(resultOf(outcome));
      if (results.length === RESULTS_PER_MESSAGE) report();
      return undefined;
    },
  });
  report();
}

process.once('message', (share: Share) => {
  work(share).then(
    () => process.disconnect(),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
// The parent process has ended.
process.once('disconnect', () => process.exit());
