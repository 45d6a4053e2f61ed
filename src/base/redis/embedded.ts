import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { obtainServer, type ServerOptions } from './find-server.js';
import { freePort, type PrivateRedis, startPrivateRedis } from './private-server.js';

const FOLDER = '.volley';
const ADDRESS_FILE = 'redis.json';
/** A server on the same machine answers within a millisecond, even while it loads its data. */
const ANSWERS_WITHIN_MS = 1_000;
/** A server that is shutting down may still answer this long; see {@link startEmbedded}. */
const ENDING_TAKES_MS = 500;

/** The running embedded Redis of a folder. */
export interface EmbeddedRedis {
  /** Contains a password: not for logs. The same on every run, so that connected processes find it again. */
  readonly url: string;
  readonly pid: number;
  /** The folder of its data. */
  readonly dir: string;
}

/** The result of a start: this process owns the server, or it is already running for another `volley up`. */
export type StartedEmbedded =
  | { kind: 'started'; url: string; dir: string; server: PrivateRedis }
  | ({ kind: 'running' } & EmbeddedRedis);

/** How {@link startEmbedded} gets a server, and what must happen before others can find it. */
interface StartOptions extends ServerOptions {
  /** Runs with the process id of the server before it answers anyone. If it rejects, so does the start. */
  readonly beforeListening?: (server: { readonly dir: string; readonly pid: number }) => Promise<void>;
}

/**
 * Starts the Redis of `volley up`, in the nearest `.volley` folder from `cwd` upwards, or in a new one in `cwd`. It writes every
 * change to disk before it answers, and ends with this process.
 *
 * There is no lock file that could go stale. A folder keeps its port and password for good; only one server can listen on the
 * port, which it does before it opens the data; and the password identifies it. Throws if another program uses the port, or if
 * there is no Redis program on this machine and none is to be installed.
 */
export async function startEmbedded(
  cwd: string,
  { beforeListening, ...server }: StartOptions,
): Promise<StartedEmbedded> {
  const dir = (await findFolder(cwd)) ?? resolve(cwd, FOLDER);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { port, password } = await addressOf(dir);
  const url = urlOf(port, password);
  // If its `volley up` was killed a moment ago, the server may still answer while it shuts down, so check twice.
  if ((await pidOf(url)) !== undefined) {
    await new Promise((done) => setTimeout(done, ENDING_TAKES_MS));
    const pid = await pidOf(url);
    if (pid !== undefined) return { kind: 'running', url, pid, dir };
  }
  const program = await obtainServer(server);
  try {
    const started = await startPrivateRedis({
      dir,
      port,
      password,
      program,
      appendfsync: 'always',
      ...(beforeListening && { beforeListening: (pid: number) => beforeListening({ dir, pid }) }),
    });
    return { kind: 'started', url, dir, server: started };
  } catch (error) {
    // Another command may have started it at the same moment.
    const pid = await pidOf(url);
    if (pid !== undefined) return { kind: 'running', url, pid, dir };
    throw new Error(
      `The Redis in ${dir} did not start: ${error instanceof Error ? error.message : String(error)}. If another program uses port ${port}, stop it, or delete ${join(dir, ADDRESS_FILE)} (the data stays).`,
      { cause: error },
    );
  }
}

/** The running embedded Redis of the nearest `.volley` folder from `cwd` upwards; `undefined` if none answers. */
export async function findEmbedded(cwd: string): Promise<EmbeddedRedis | undefined> {
  const dir = await findEmbeddedFolder(cwd);
  if (dir === undefined) return undefined;
  const address = await readAddress(dir);
  if (address === undefined) return undefined;
  const url = urlOf(address.port, address.password);
  const pid = await pidOf(url);
  return pid === undefined ? undefined : { url, pid, dir };
}

/**
 * Why {@link findEmbedded} finds no server although there may be one, in a sentence; undefined if there is none. A server that
 * hangs, and files that cannot be read, are not the same as no server.
 */
export async function whyNoEmbedded(cwd: string): Promise<string | undefined> {
  const dir = await findFolder(cwd);
  if (dir === undefined) {
    const foreign = await findFolder(cwd, false);
    return foreign === undefined
      ? undefined
      : `${foreign} belongs to another user, so its Redis is not used. Run this command as that user.`;
  }
  const file = join(dir, ADDRESS_FILE);
  const problem = await readFile(file).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  );
  if (problem === 'ENOENT') return undefined;
  if (problem !== undefined)
    return `${file} cannot be read, so its Redis is not found. Check its permissions.`;
  const address = await readAddress(dir);
  const redis = address && open(urlOf(address.port, address.password));
  if (redis === undefined) return undefined;
  const failed = await redis.info('server').then(
    () => undefined,
    (error: Error) => error,
  );
  redis.disconnect();
  if (failed === undefined || /ECONNREFUSED|Connection is closed|WRONGPASS|NOAUTH/.test(failed.message))
    return undefined;
  return `The Redis of ${dir} does not answer (${failed.message}). Its log is ${join(dir, 'redis.log')}.`;
}

/** The folder of an embedded Redis, whether or not it runs: the nearest `.volley` of this user from `cwd` upwards. */
export function findEmbeddedFolder(cwd: string): Promise<string | undefined> {
  return findFolder(cwd);
}

/** The nearest `.volley` from `cwd` upwards. Ignores a folder that belongs to another user, because it may be a trap. */
async function findFolder(cwd: string, isOwn = true): Promise<string | undefined> {
  for (let at = resolve(cwd); ; at = dirname(at)) {
    const folder = join(at, FOLDER);
    const stats = await stat(folder).catch(() => undefined);
    const uid = process.getuid?.();
    if (stats?.isDirectory() && (uid === undefined || (stats.uid === uid) === isOwn)) return folder;
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
  const address = parsedAddress(text);
  if (address === undefined)
    throw new Error(`${join(dir, ADDRESS_FILE)} is damaged. Delete it (the data stays), and try again.`);
  return address;
}

function parsedAddress(text: string): Address | undefined {
  try {
    const { port, password } = JSON.parse(text) as Partial<Address>;
    return typeof port === 'number' && typeof password === 'string' ? { port, password } : undefined;
  } catch {
    return undefined;
  }
}

/** The folder's address, chosen on the first call. Linking creates the file atomically and only once. */
async function addressOf(dir: string): Promise<Address> {
  const known = await readAddress(dir);
  if (known !== undefined) return known;
  const chosen: Address = { port: await freePort(), password: randomBytes(24).toString('hex') };
  const draft = join(dir, `${ADDRESS_FILE}.${randomBytes(4).toString('hex')}`);
  await writeFile(draft, JSON.stringify(chosen), { mode: 0o600 });
  await link(draft, join(dir, ADDRESS_FILE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await unlink(draft);
  return (await readAddress(dir)) ?? chosen;
}

/** The process id of the server that answers at this URL with its password, even while it loads its data. */
async function pidOf(url: string): Promise<number | undefined> {
  const redis = open(url);
  const info = await redis.info('server').catch(() => '');
  redis.disconnect();
  const pid = /^process_id:(\d+)/m.exec(info)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

function open(url: string): Redis {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: ANSWERS_WITHIN_MS,
    commandTimeout: ANSWERS_WITHIN_MS,
    retryStrategy: () => null,
  });
  redis.on('error', () => {});
  return redis;
}
