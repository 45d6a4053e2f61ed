import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What was told to end in the last test may take this long. */
const GONE_WITHIN_MS = 3_000;

/**
 * Gives the run a temporary folder of its own, and returns what ends the run: it waits a little for processes that are
 * ending, ends those started since then that still live, deletes the folder, and names them as `pid command`.
 *
 * A descendant is told by the folder's name in its environment, or, as Redis overwrites its own, by working below
 * it. A test that gives a process an environment of its own hands on `process.env` with it. Linux tells both in
 * /proc; elsewhere nothing is found.
 */
export async function watchDescendants(): Promise<() => Promise<string[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-tests-'));
  process.env['TMPDIR'] = folder;
  return async () => {
    const patience = Date.now() + GONE_WITHIN_MS;
    for (;;) {
      const alive = await descendants(folder);
      if (alive.length > 0 && Date.now() < patience) {
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
    // It ended at this very moment.
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
    // Vitest's own it keeps for its next run, and ends itself. One without a command has ended.
    if (command !== '' && !command.includes('vitest')) found.push(`${pid} ${command}`);
  }
  return found;
}
