import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { findServer, installServer } from './find-server.js';
import { freePort, type PrivateRedis, startPrivateRedis } from './private-server.js';

const FOLDER = '.volley';
const ADDRESS_FILE = 'redis.json';
/** A server on the same machine answers in a millisecond, or is loading its data and says so as fast. */
const ANSWERS_WITHIN_MS = 1_000;
/** A server told to end may still answer this long; see {@link startEmbedded}. */
const ENDING_TAKES_MS = 500;

/** The embedded Redis of a folder, as every command finds it. */
export interface EmbeddedRedis {
  /** Holds a password: not for logs. The same from run to run, so that whoever was connected finds it again. */
  readonly url: string;
  readonly pid: number;
  /** The folder of its data. */
  readonly dir: string;
}

/** What became of starting it: it is ours now, or it runs already and belongs to another `volley up`. */
export type StartedEmbedded =
  | { kind: 'started'; url: string; dir: string; server: PrivateRedis }
  | ({ kind: 'running' } & EmbeddedRedis);

/**
 * Starts the Redis that `volley up` brings along, in the `.volley` folder found from `cwd` upward, or a new one in
 * `cwd`. It writes every change to disk before it answers, and ends when this process does.
 *
 * There is no lock file to go stale. A folder keeps one port and one password for good; the system lets one server
 * listen on the port, before it opens the data; and who knows the password is the one. Throws when another program has
 * taken the port, or there is no Redis program here; `announce` is told in a line when one is installed (as root).
 */
export async function startEmbedded(cwd: string, announce: (line: string) => void): Promise<StartedEmbedded> {
  const dir = (await findFolder(cwd)) ?? resolve(cwd, FOLDER);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { port, password } = await addressOf(dir);
  const url = urlOf(port, password);
  // One whose `volley up` was killed a moment ago is on its way out and answers still: looked at twice.
  if ((await lifeOf(url)) !== undefined) {
    await new Promise((done) => setTimeout(done, ENDING_TAKES_MS));
    const pid = await lifeOf(url);
    if (pid !== undefined) return { kind: 'running', url, pid, dir };
  }
  const program = (await findServer()) ?? (await installServer(announce));
  if (program === undefined) {
    throw new Error('No Redis on this machine: install redis-server or valkey-server, or set REDIS_URL.');
  }
  try {
    const server = await startPrivateRedis({ dir, port, password, program, appendfsync: 'always' });
    return { kind: 'started', url, dir, server };
  } catch (error) {
    // Of two commands given at the same moment the other was first.
    const pid = await lifeOf(url);
    if (pid !== undefined) return { kind: 'running', url, pid, dir };
    throw new Error(
      `The Redis in ${dir} did not start: ${error instanceof Error ? error.message : String(error)}. If another program has taken port ${port}, end it, or delete ${join(dir, ADDRESS_FILE)} (the data stays).`,
      { cause: error },
    );
  }
}

/** The embedded Redis that runs for `cwd`: of the nearest `.volley` folder upward. `undefined` when none answers. */
export async function findEmbedded(cwd: string): Promise<EmbeddedRedis | undefined> {
  const dir = await findFolder(cwd);
  if (dir === undefined) return undefined;
  const address = await readAddress(dir);
  if (address === undefined) return undefined;
  const url = urlOf(address.port, address.password);
  const pid = await lifeOf(url);
  return pid === undefined ? undefined : { url, pid, dir };
}

/** The nearest `.volley` from `cwd` upward. One that belongs to another user is passed over, as it may be a trap. */
async function findFolder(cwd: string): Promise<string | undefined> {
  for (let at = resolve(cwd); ; at = dirname(at)) {
    const folder = join(at, FOLDER);
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() && (process.getuid === undefined || found.uid === process.getuid()))
      return folder;
    if (at === dirname(at)) return undefined;
  }
}

interface Address {
  port: number;
  password: string;
}

function urlOf(port: number, password: string): string {
  return `redis://:${password}@127.0.0.1:${port}`;
}

async function readAddress(dir: string): Promise<Address | undefined> {
  const text = await readFile(join(dir, ADDRESS_FILE), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { port, password } = JSON.parse(text) as Partial<Address>;
  if (typeof port !== 'number' || typeof password !== 'string') {
    throw new Error(`${join(dir, ADDRESS_FILE)} is damaged: delete it (the data stays) and try again`);
  }
  return { port, password };
}

/** The folder's address, chosen at the first call. Linking makes the file whole or not at all, and once. */
async function addressOf(dir: string): Promise<Address> {
  const known = await readAddress(dir);
  if (known !== undefined) return known;
  const chosen: Address = { port: await lastingPort(), password: randomBytes(24).toString('hex') };
  const draft = join(dir, `${ADDRESS_FILE}.${randomBytes(4).toString('hex')}`);
  await writeFile(draft, JSON.stringify(chosen), { mode: 0o600 });
  await link(draft, join(dir, ADDRESS_FILE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await unlink(draft);
  return (await readAddress(dir)) ?? chosen;
}

/** A free port below those that systems lend to outgoing connections, one of which could hold it next time. */
async function lastingPort(): Promise<number> {
  for (let tries = 0; tries < 20; tries += 1) {
    const port = await freePort(20_000 + (randomBytes(2).readUInt16BE() % 12_000)).catch(() => undefined);
    if (port !== undefined) return port;
  }
  return freePort();
}

/**
 * The process id of the server that answers to this URL and its password; also while it loads its data, which
 * Redis tells in `INFO` and which the connections of the commands wait for.
 */
async function lifeOf(url: string): Promise<number | undefined> {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: ANSWERS_WITHIN_MS,
    commandTimeout: ANSWERS_WITHIN_MS,
    retryStrategy: () => null,
  });
  redis.on('error', () => {});
  const info = await redis.info('server').catch(() => '');
  redis.disconnect();
  const pid = /^process_id:(\d+)/m.exec(info)?.[1];
  return pid === undefined ? undefined : Number(pid);
}
