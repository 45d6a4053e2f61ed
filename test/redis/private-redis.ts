import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, inject } from 'vitest';
import { findServer } from '../../src/redis/find-server.js';
import { startPrivateRedis } from '../../src/redis/private-server.js';
import { mortalContainer } from './mortal-container.js';

/** A Redis of a test file's own, which the test may end and start again. */
export interface MortalRedis {
  /** The same after every restart. */
  readonly url: string;
  /** As a power cut would; resolves when the process is gone. */
  kill(): Promise<void>;
  /** On the same port and data; resolves when everything is loaded and it answers. */
  restart(): Promise<void>;
}

/**
 * Starts a Redis that has every answered write on disk (`appendfsync always`): a server of this machine, or else a
 * container. Call it at a file's top level, with `await`: after the last test the server and its data go.
 */
export async function privateRedis(): Promise<MortalRedis> {
  const program = await findServer();
  const { stop, ...redis } =
    program === undefined ? await mortalContainer(inject('redisImage')) : await mortalServer(program);
  afterAll(stop);
  return redis;
}

async function mortalServer(program: string): Promise<MortalRedis & { stop(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'volley-test-redis-'));
  let server = await startPrivateRedis({ dir, appendfsync: 'always', program });
  const { port, url } = server;
  const { password } = new URL(url);
  return {
    url,
    kill: () => server.kill(),
    restart: async () => {
      await server.kill();
      server = await startPrivateRedis({ dir, appendfsync: 'always', program, port, password });
    },
    stop: async () => {
      await server.kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
