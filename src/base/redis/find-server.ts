import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Where package managers install servers; not always on the PATH of a service or an editor. */
const USUAL_FOLDERS = ['/usr/bin', '/usr/local/bin', '/usr/sbin', '/opt/homebrew/bin', '/opt/local/bin'];

const SERVERS = ['redis-server', 'valkey-server'];

interface PackageManager {
  readonly program: string;
  /** What a person types to install a server. */
  readonly command: string;
  /** The arguments that do so without prompts, one list per command. Empty: the program refuses to run as root. */
  readonly install: readonly (readonly string[])[];
}

/** The first package manager found is used. */
const PACKAGE_MANAGERS: readonly PackageManager[] = [
  {
    program: 'apt-get',
    command: 'apt-get install redis-server',
    install: [
      ['update', '-qq'],
      ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'],
    ],
  },
  { program: 'dnf', command: 'dnf install redis', install: [['install', '-y', '-q', 'redis']] },
  { program: 'yum', command: 'yum install redis', install: [['install', '-y', '-q', 'redis']] },
  { program: 'apk', command: 'apk add redis', install: [['add', '--quiet', 'redis']] },
  { program: 'pacman', command: 'pacman -S valkey', install: [['-Sy', '--noconfirm', 'valkey']] },
  {
    program: 'zypper',
    command: 'zypper install redis',
    install: [['--non-interactive', 'install', 'redis']],
  },
  { program: 'brew', command: 'brew install redis', install: [] },
];

/** The path of a `redis-server` or `valkey-server` on this machine, or `undefined` when there is none. */
export function findServer(): Promise<string | undefined> {
  return findProgram(SERVERS, programFolders());
}

/** How {@link obtainServer} gets a server. */
export interface ServerOptions {
  /** Whether a server may be installed if there is none. Only a person decides that, never the program by itself. Default: no. */
  readonly install?: boolean;
  /** The command that may install one, for the error. */
  readonly installer?: string;
  /** Receives one line before anything is installed. */
  readonly announce?: (line: string) => void;
  /** Where programs are; default: the PATH and the usual folders. */
  readonly folders?: readonly string[];
  /** Default: whether this process runs as root. */
  readonly isRoot?: boolean;
}

/**
 * The path of a Redis server on this machine. If there is none, it is installed with the system's package manager, if `install` is
 * set and this process runs as root. Otherwise throws an error that says in one line what to install.
 */
export async function obtainServer({
  install = false,
  installer,
  announce = () => {},
  folders = programFolders(),
  isRoot = process.getuid?.() === 0,
}: ServerOptions = {}): Promise<string> {
  const server = await findProgram(SERVERS, folders);
  if (server !== undefined) return server;
  const manager = await findPackageManager(folders);
  if (install && isRoot && manager !== undefined && manager.install.length > 0) {
    announce(`There is no Redis on this machine: installing one with ${manager.program}.`);
    for (const args of manager.install) {
      await run(manager.path, [...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
    }
    const installed = await findProgram(SERVERS, folders);
    if (installed !== undefined) return installed;
  }
  const sudo = isRoot || manager?.program === 'brew' ? '' : 'sudo ';
  const how =
    manager === undefined ? 'redis-server or valkey-server' : `it with \`${sudo}${manager.command}\``;
  const mayInstall = isRoot && !install && (manager?.install.length ?? 0) > 0;
  const byUs = mayInstall && installer !== undefined ? `, run \`${installer}\`` : '';
  throw new Error(`There is no Redis on this machine: install ${how}${byUs}, or set REDIS_URL.`);
}

function programFolders(): string[] {
  return [...(process.env['PATH'] ?? '').split(delimiter), ...USUAL_FOLDERS].filter(Boolean);
}

async function findPackageManager(
  folders: readonly string[],
): Promise<(PackageManager & { readonly path: string }) | undefined> {
  for (const manager of PACKAGE_MANAGERS) {
    const path = await findProgram([manager.program], folders);
    if (path !== undefined) return { ...manager, path };
  }
  return undefined;
}

async function findProgram(
  names: readonly string[],
  folders: readonly string[],
): Promise<string | undefined> {
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
