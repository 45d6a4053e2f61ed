import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, inject } from 'vitest';
import { findServer } from '../../../src/base/redis/find-server.js';
import { startPrivateRedis } from '../../../src/base/redis/private-server.js';
import { killableContainer } from './killable-container.js';

/** A test file's own Redis, which the test may kill and restart. */
export interface KillableRedis {
  /** The same after every restart. */
  readonly url: string;
  /** Kills it as a power cut would; resolves when the process has ended. */
  kill(): Promise<void>;
  /** Restarts it on the same port and data; resolves when it has loaded its data and answers. */
  restart(): Promise<void>;
}

/**
 * Starts a Redis that has every acknowledged write on disk (`appendfsync always`): a program of this machine, or a container.
 * Call it at a file's top level, with `await`: after the last test the server and its data are removed.
 */
export async function privateRedis(): Promise<KillableRedis> {
  const program = await findServer();
  const { stop, ...redis } =
    program === undefined ? await killableContainer(inject('redisImage')) : await killableServer(program);
  afterAll(stop);
  return redis;
}

async function killableServer(program: string): Promise<KillableRedis & { stop(): Promise<void> }> {
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
