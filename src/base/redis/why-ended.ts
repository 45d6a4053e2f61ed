import { readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** How a server process ended: with an exit code, or by a signal. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Why a Redis server ended. `diskFull`, `outOfMemory`: by its log; `killed`: by a signal that it did not log. */
export type WhyEnded =
  | { readonly cause: 'diskFull' | 'outOfMemory' }
  | { readonly cause: 'killed'; readonly signal: NodeJS.Signals }
  | { readonly cause: 'other'; readonly lastLine: string };

const LINES_READ = 30;
const DISK_FULL = /No space left on device|Disk quota exceeded|Short write while writing to the AOF file/;
/** With less, not even the log says why. */
const BYTES_FREE = 64 * 1024;
const OUT_OF_MEMORY = /Out Of Memory|Cannot allocate memory/;

/** Reads in the log of a private server why it ended. A log that cannot be read says nothing. */
export async function whyEnded(dir: string, { signal }: ProcessEnd): Promise<WhyEnded> {
  const log = await readFile(join(dir, 'redis.log'), 'utf8').catch(() => '');
  const lines = log.trim().split('\n').slice(-LINES_READ);
  // The log goes on from run to run.
  const begin = lines.findLastIndex((line) => line.includes(' is starting '));
  const own = lines.slice(begin + 1);
  if (own.some((line) => DISK_FULL.test(line))) return { cause: 'diskFull' };
  if (own.some((line) => OUT_OF_MEMORY.test(line))) return { cause: 'outOfMemory' };
  if (signal !== null) return { cause: 'killed', signal };
  if (await isFull(dir)) return { cause: 'diskFull' };
  return { cause: 'other', lastLine: own.at(-1) ?? '' };
}

async function isFull(dir: string): Promise<boolean> {
  const disk = await statfs(dir).catch(() => undefined);
  return disk !== undefined && disk.bavail * disk.bsize < BYTES_FREE;
}
