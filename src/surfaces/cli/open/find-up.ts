import { setTimeout as delay } from 'node:timers/promises';
import { formatDuration } from '../../../base/duration.js';
import { type EmbeddedRedis, findEmbedded, findEmbeddedFolder } from '../../../base/redis/embedded.js';
import type { CliIo } from '../context/context.js';
import { CliError } from '../context/errors.js';
import { findStartingUp, readUp, type Up } from './up-file.js';

const LOOK_EVERY_MS = 50;
/** Redis may load a large file first. */
const STARTS_WITHIN_MS = 60_000;

/** A `volley up` whose Redis answers. */
export interface FoundUp {
  readonly redis: EmbeddedRedis;
  readonly up: Extract<Up, { state: 'running' }>;
}

/**
 * The `volley up` of this folder or a folder above it, once it is ready; undefined if there is none. Waits for one that is
 * starting, because a command must not choose between the simulator and a real account before it knows which of them is meant.
 * Rejects if it does not start in time, or if a Redis answers that no `volley up` describes.
 */
export async function findUp({ cwd, clock }: Pick<CliIo, 'cwd' | 'clock'>): Promise<FoundUp | undefined> {
  const until = clock() + STARTS_WITHIN_MS;
  for (;;) {
    const redis = await findEmbedded(cwd);
    const up = redis === undefined ? await starting(cwd) : await readUp(redis);
    if (redis !== undefined && up === undefined) {
      // It may have ended since, and its file with it.
      if ((await findEmbedded(cwd))?.pid !== redis.pid) continue;
      throw new CliError(
        'failed',
        `The Redis server in ${redis.dir} (process ${redis.pid}) runs, but nothing says whether it belongs to a simulator or a real account. Stop its \`volley up\`, and start it again.`,
      );
    }
    if (up === undefined) return undefined;
    if (redis !== undefined && up.state === 'running') return { redis, up };
    if (clock() >= until) {
      throw new CliError(
        'unavailable',
        `${commandOf(up)} is still starting after ${formatDuration(STARTS_WITHIN_MS)}. Try again when it says that it runs.`,
      );
    }
    await delay(LOOK_EVERY_MS);
  }
}

/** Whether a `volley up --simulator` of this folder or a folder above it runs or is starting. */
export async function isSimulatorUp(cwd: string): Promise<boolean> {
  const redis = await findEmbedded(cwd);
  const up = redis === undefined ? await starting(cwd) : await readUp(redis);
  return up?.mode === 'simulator';
}

/** `` `volley up --simulator` (process 7) `` */
export function commandOf({ mode, pid }: Pick<Up, 'mode' | 'pid'>): string {
  return `\`volley up${mode === 'simulator' ? ' --simulator' : ''}\` (process ${pid})`;
}

async function starting(cwd: string): Promise<Up | undefined> {
  const dir = await findEmbeddedFolder(cwd);
  return dir === undefined ? undefined : findStartingUp(dir);
}
