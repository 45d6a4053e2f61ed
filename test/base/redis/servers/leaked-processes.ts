import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** How long processes that are ending may take. */
const GONE_WITHIN_MS = 3_000;

/**
 * Gives the run its own temporary folder, and returns a function that ends the run: it waits briefly for processes that are
 * ending, kills those that the tests started and that still run, deletes the folder, and returns them as `pid command`.
 *
 * A process is recognised by the folder's name in its environment or, as Redis overwrites its environment, by its working
 * directory. A test that passes its own environment to a process includes `process.env`. Works on Linux (/proc) only.
 */
export async function watchDescendants(): Promise<() => Promise<string[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-tests-'));
  process.env['TMPDIR'] = folder;
  return async () => {
    const deadline = Date.now() + GONE_WITHIN_MS;
    for (;;) {
      const alive = await descendants(folder);
      if (alive.length > 0 && Date.now() < deadline) {
        await new Promise((done) => setTimeout(done, 100));
        continue;
      }
      for (const line of alive) end(Number.parseInt(line, 10));
      await rm(folder, { recursive: true, force: true });
      return alive;
    }
  };
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}

async function descendants(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    const workingFolder = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (!environment.includes(`TMPDIR=${folder}`) && !workingFolder.startsWith(folder)) continue;
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''))
      .replaceAll('\0', ' ')
      .trim();
    // Vitest ends its own processes. A process without a command has ended.
    if (command !== '' && !command.includes('vitest')) found.push(`${pid} ${command}`);
  }
  return found;
}
