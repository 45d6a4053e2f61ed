import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A disk of its own for the files of one server. Linux only, as root. */
export interface SmallDisk {
  /** Fills it to the last byte. */
  fill(): Promise<void>;
  /** Frees what `fill` took. */
  free(): Promise<void>;
  close(): Promise<void>;
}

/** A run writes a few megabytes. */
const SIZE = '96m';
const BLOCK = Buffer.alloc(65_536);

const run = promisify(execFile);

/** Whether this process may mount a disk. */
export async function canMount(): Promise<boolean> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = await mkdtemp(join(tmpdir(), 'volley-disk-'));
  try {
    await (await mountSmallDisk(folder)).close();
    return true;
  } catch {
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Mounts an empty disk at this folder. */
export async function mountSmallDisk(folder: string): Promise<SmallDisk> {
  await mkdir(folder, { recursive: true });
  await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=700`, 'tmpfs', folder]);
  const filler = join(folder, 'filler');
  return {
    async fill() {
      const file = await open(filler, 'a');
      try {
        for (let block = BLOCK; block.length > 0; block = block.subarray(0, block.length >> 1)) {
          while ((await file.write(block).catch(() => ({ bytesWritten: 0 }))).bytesWritten === block.length);
        }
      } finally {
        await file.close();
      }
    },
    free: () => rm(filler, { force: true }),
    close: async () => void (await run('umount', [folder])),
  };
}
