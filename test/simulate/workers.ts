import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Result } from './results.js';
import type { Share } from './worker.js';

/** A world is short-lived, and so is what it allocates: with room for it, little of it is ever copied. */
const NODE_OPTIONS = ['--max-semi-space-size=64'];

/** Deals the seeds out to so many processes. Throws when one of them dies. */
export async function runInWorkers(
  redisUrl: string,
  range: {
    readonly from: number;
    readonly seeds: number;
    readonly workers: number;
    readonly traces: boolean;
  },
  onResult: (result: Result) => void,
): Promise<void> {
  const { from, seeds, workers, traces } = range;
  const stride = Math.min(workers, seeds);
  const script = new URL('./worker.js', import.meta.url);
  const shares = Array.from({ length: stride }, (_, at): Share => {
    return { redisUrl, first: from + at, end: from + seeds, stride, traces };
  });
  await Promise.all(
    shares.map(async (share) => {
      const worker = fork(script, { execArgv: NODE_OPTIONS });
      worker.on('message', (results: readonly Result[]) => results.forEach(onResult));
      worker.send(share);
      const [code, signal] = await once(worker, 'exit');
      if (code !== 0) throw new Error(`a worker ended before its seeds did (${signal ?? code})`);
    }),
  );
}
