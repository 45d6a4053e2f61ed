import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Result } from './results.js';
import type { Share } from './worker.js';

/** Worlds are short-lived, so a large young generation avoids most copying by the garbage collector. */
const NODE_OPTIONS = ['--max-semi-space-size=64'];

/** Distributes the scripted worlds and the seeds over worker processes. Throws if one of them ends early. */
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
    return { redisUrl, first: at, stride, from, seeds, traces };
  });
  await Promise.all(
    shares.map(async (share) => {
      const worker = fork(script, { execArgv: NODE_OPTIONS });
      worker.on('message', (results: readonly Result[]) => results.forEach(onResult));
      worker.send(share);
      const [code, signal] = await once(worker, 'exit');
      if (code !== 0)
        throw new Error(`a worker process ended before its worlds were done (${signal ?? code})`);
    }),
  );
}
