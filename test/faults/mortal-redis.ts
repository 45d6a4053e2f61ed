import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '../../src/redis/connection.js';
import { freePort, type PrivateRedis, startPrivateRedis } from '../../src/redis/private-server.js';
import { type Link, openLink } from './link.js';

/** A Redis of a run's own, of which nothing is sacred. */
export interface MortalRedis {
  /** With the password. Goes straight to the server that is in charge, on whichever port. */
  readonly url: string;
  readonly port: number;
  /** One command, on a connection of its own that does not outlive it. */
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
  kill(): Promise<void>;
  /** On the same port and data. */
  restart(): Promise<void>;
  /** Bytes of the append-only file so far. */
  written(): Promise<number>;
  /** Cuts the append-only file of a killed server off there, as a disk does that had not written the rest. */
  forgetAfter(bytes: number): Promise<void>;
  /** From now on the replica hears nothing. */
  deafen(): void;
  /** Kills the server; its replica is in charge from then on, with what it has. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

const FOLLOWS_WITHIN_MS = 20_000;

/**
 * What a server may lose: nothing, for every answered write is on disk; what it has not written yet, for it writes once a
 * second; or what its replica has not heard.
 */
export type Durability = 'safe' | 'everySecond' | 'replicated';

/** Starts it, with its replica if it has one. Throws where the machine has no redis-server. */
export async function startMortalRedis(folder: string, durability: Durability): Promise<MortalRedis> {
  const appendfsync = durability === 'everySecond' ? 'everysec' : 'always';
  const dir = (name: string): string => join(folder, name);
  let inCharge = 'first';
  let server = await startPrivateRedis({ dir: dir(inCharge), appendfsync, port: await freePort() });
  const { password } = new URL(server.url);
  let replica: { server: PrivateRedis; link: Link } | undefined;
  const start = (name: string, port?: number): Promise<PrivateRedis> =>
    startPrivateRedis({
      dir: dir(name),
      appendfsync,
      password,
      ...(port === undefined ? {} : { port }),
    });

  /** Starts a replica and waits until it has everything. */
  const follow = async (): Promise<void> => {
    const link = await openLink(server.port);
    const follower = await start('second');
    replica = { server: follower, link };
    await ask(server.url, 'CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
    await ask(follower.url, 'CONFIG', 'SET', 'masterauth', password);
    await ask(follower.url, 'REPLICAOF', '127.0.0.1', String(link.port));
    const patience = Date.now() + FOLLOWS_WITHIN_MS;
    while (!String(await ask(follower.url, 'INFO', 'replication')).includes('master_link_status:up')) {
      if (Date.now() > patience) throw new Error('the replica does not follow');
      await new Promise((later) => setTimeout(later, 50));
    }
  };
  if (durability === 'replicated') await follow();

  return {
    get url() {
      return server.url;
    },
    get port() {
      return server.port;
    },
    ask: (command, ...args) => ask(server.url, command, ...args),
    kill: () => server.kill(),
    async restart() {
      await server.kill();
      server = await start(inCharge, server.port);
    },
    written: async () => (await stat(await lastIncrement(dir(inCharge)))).size,
    forgetAfter: async (bytes) => truncate(await lastIncrement(dir(inCharge)), bytes),
    deafen: () => replica?.link.hold(),
    async failOver() {
      if (replica === undefined) throw new Error('there is no replica');
      await server.kill();
      // What was held must never arrive.
      await ask(replica.server.url, 'REPLICAOF', 'NO', 'ONE');
      await replica.link.close();
      [server, inCharge, replica] = [replica.server, 'second', undefined];
    },
    async stop() {
      await replica?.link.close();
      await replica?.server.kill();
      await server.kill();
    },
  };
}

async function ask(url: string, command: string, ...args: readonly string[]): Promise<unknown> {
  const redis = connect(url, 'blocking');
  try {
    if (!('call' in redis)) throw new TypeError('one server, no cluster');
    return await redis.call(command, ...args);
  } finally {
    redis.disconnect();
  }
}

/** The file that is appended to. */
async function lastIncrement(dir: string): Promise<string> {
  const folder = join(dir, 'appendonlydir');
  const numberOf = (file: string): number => Number(/\.(\d+)\.incr\.aof$/.exec(file)?.[1] ?? -1);
  const files = (await readdir(folder)).filter((file) => numberOf(file) >= 0);
  const last = files.sort((a, b) => numberOf(a) - numberOf(b)).at(-1);
  if (last === undefined) throw new Error(`there is no append-only file in ${folder}`);
  return join(folder, last);
}
