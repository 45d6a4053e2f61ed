import { type Result, resultOf } from './results.js';
import { runWorlds } from './run-worlds.js';

/** The seeds of one worker process: every `stride`-th seed from `first` on, below `end`. */
export interface Share {
  readonly redisUrl: string;
  readonly first: number;
  readonly end: number;
  readonly stride: number;
  /** Whether to trace each seed. */
  readonly traces: boolean;
}

const RESULTS_PER_MESSAGE = 25;

function* seedsOf({ first, end, stride }: Share): Iterable<number> {
  for (let seed = first; seed < end; seed += stride) yield seed;
}

async function work(share: Share): Promise<void> {
  let results: Result[] = [];
  const report = (): void => {
    process.send?.(results);
    results = [];
  };
  await runWorlds({
    redisUrl: share.redisUrl,
    seeds: seedsOf(share),
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
