import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Where package managers install servers; not always on the PATH of a service or an editor. */
const USUAL_FOLDERS = ['/usr/bin', '/usr/local/bin', '/usr/sbin', '/opt/homebrew/bin', '/opt/local/bin'];

const SERVERS = ['redis-server', 'valkey-server'];

/** The commands that install a server without prompts. The first package manager found is used. */
const PACKAGE_MANAGERS: readonly { program: string; commands: readonly (readonly string[])[] }[] = [
  {
    program: 'apt-get',
    commands: [
      ['update', '-qq'],
      ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'],
    ],
  },
  { program: 'dnf', commands: [['install', '-y', '-q', 'redis']] },
  { program: 'yum', commands: [['install', '-y', '-q', 'redis']] },
  { program: 'apk', commands: [['add', '--quiet', 'redis']] },
  { program: 'pacman', commands: [['-Sy', '--noconfirm', 'valkey']] },
  { program: 'zypper', commands: [['--non-interactive', 'install', 'redis']] },
];

/** The path of a `redis-server` or `valkey-server` on this machine, or `undefined` when there is none. */
export function findServer(): Promise<string | undefined> {
  return findProgram(SERVERS);
}

/**
 * Installs a Redis server with the system's package manager and returns its path; `announce` receives one line before anything
 * happens. `undefined` if this process is not root or there is no known package manager. Throws if the package manager fails.
 */
export async function installServer(announce: (line: string) => void): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const { program, commands } of PACKAGE_MANAGERS) {
    const path = await findProgram([program]);
    if (path === undefined) continue;
    announce(`No Redis found: installing one with ${program}, because this process runs as root.`);
    for (const args of commands) {
      await run(path, [...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
    }
    return findServer();
  }
  return undefined;
}

async function findProgram(names: readonly string[]): Promise<string | undefined> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...USUAL_FOLDERS].filter(Boolean);
  for (const name of names) {
    for (const folder of folders) {
      const path = join(folder, name);
      const runs = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (runs) return path;
    }
  }
  return undefined;
}
