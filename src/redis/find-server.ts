import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Where package managers put servers that are not always on the PATH of a service or an editor. */
const USUAL_PLACES = ['/usr/bin', '/usr/local/bin', '/usr/sbin', '/opt/homebrew/bin', '/opt/local/bin'];

const SERVERS = ['redis-server', 'valkey-server'];

/** What each package manager is told to install a server without asking. The first one found is used. */
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
 * Installs a Redis server with the system's package manager and returns its path; `announce` is told in one line
 * before anything happens. `undefined` when this process is not root or there is no package manager it knows.
 * Throws what the package manager said when it fails.
 */
export async function installServer(announce: (line: string) => void): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const { program, commands } of PACKAGE_MANAGERS) {
    const path = await findProgram([program]);
    if (path === undefined) continue;
    announce(`No Redis found: installing one with ${program}, as this runs as root.`);
    for (const args of commands) {
      await run(path, [...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
    }
    return findServer();
  }
  return undefined;
}

async function findProgram(names: readonly string[]): Promise<string | undefined> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...USUAL_PLACES].filter(Boolean);
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
