import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test as anyTest, expect, onTestFinished } from 'vitest';
import { startEmbedded } from '../../../../src/base/redis/embedded.js';
import { findServer } from '../../../../src/base/redis/find-server.js';
import { findUp } from '../../../../src/surfaces/cli/open/find-up.js';
import { publishUp, readUp, removeUp, removeUpsOfDead } from '../../../../src/surfaces/cli/open/up-file.js';
import { temporaryFolder } from '../../../scene/closing.js';

const test = anyTest.skipIf((await findServer()) === undefined);

const SERVER = { install: false, installer: 'volley up --install', announce: () => {} };
const here = { pid: process.pid } as const;
/** Above the largest process id of Linux and macOS. */
const NO_PROCESS = 2 ** 30;

const look = (cwd: string) => findUp({ cwd, clock: Date.now });

/** Starts the Redis of an `up` in this folder. `publish`: with its file. */
async function startRedis(cwd: string, publish = true) {
  const started = await startEmbedded(cwd, {
    ...SERVER,
    ...(publish && {
      beforeListening: (redis) => publishUp(redis, { ...here, state: 'starting', mode: 'simulator' }),
    }),
  });
  if (started.kind !== 'started') throw new Error('it was already running');
  const { server, dir } = started;
  onTestFinished(() => server.stop());
  return { dir, pid: server.pid, stop: () => server.stop() };
}

test('the file of `volley up` is readable by its owner only, and counts for its own Redis process only', async () => {
  const dir = temporaryFolder().path;
  await publishUp({ dir, pid: 7 }, { ...here, state: 'running', mode: 'service' });
  expect(await readUp({ dir, pid: 7 })).toEqual({ ...here, state: 'running', mode: 'service' });
  expect(await readUp({ dir, pid: 8 })).toBeUndefined();
  expect(statSync(join(dir, 'up-7.json')).mode & 0o077).toBe(0);
  await removeUp({ dir, pid: 7 });
  expect(readdirSync(dir)).toEqual([]);
});

test('a running simulator without addresses does not count as running', async () => {
  const { path: dir, write } = temporaryFolder();
  write('up-7.json', { ...here, state: 'running', mode: 'simulator' });
  expect(await readUp({ dir, pid: 7 })).toBeUndefined();
});

test('files of killed processes are removed, and those of running ones stay', async () => {
  const dir = temporaryFolder().path;
  await publishUp({ dir, pid: 7 }, { ...here, state: 'starting', mode: 'service' });
  await publishUp({ dir, pid: 8 }, { pid: NO_PROCESS, state: 'running', mode: 'service' });
  await removeUpsOfDead(dir);
  expect(readdirSync(dir)).toEqual(['up-7.json']);
});

test('a command waits for a `volley up` whose Redis answers before its simulator listens', async () => {
  const folder = temporaryFolder().path;
  const { dir, pid } = await startRedis(folder);
  const found = look(folder);
  const simulator = {
    messagingBaseUrl: 'http://127.0.0.1:1',
    accountBaseUrl: 'http://127.0.0.1:1',
    v3: { messagingBaseUrl: 'http://127.0.0.1:1', tokenUrl: 'http://127.0.0.1:1' },
  };
  await publishUp({ dir, pid }, { ...here, state: 'running', mode: 'simulator', simulator });
  expect(await found).toMatchObject({ redis: { dir, pid }, up: { mode: 'simulator', simulator } });
});

test('a command waits for a `volley up` whose Redis does not answer yet, and for one that fails to start', async () => {
  const folder = temporaryFolder().path;
  // Leaves the folder and its address behind.
  const { dir, pid, stop } = await startRedis(folder);
  await stop();
  await removeUp({ dir, pid });
  await publishUp({ dir, pid: NO_PROCESS }, { ...here, state: 'starting', mode: 'service' });
  const found = look(folder);
  await removeUp({ dir, pid: NO_PROCESS });
  expect(await found).toBeUndefined();
});

test('a command does not wait for a `volley up` that was killed while it started', async () => {
  const folder = temporaryFolder().path;
  const { dir, pid, stop } = await startRedis(folder);
  await stop();
  await removeUp({ dir, pid });
  await publishUp({ dir, pid: NO_PROCESS }, { pid: NO_PROCESS, state: 'starting', mode: 'service' });
  expect(await look(folder)).toBeUndefined();
});

test('a command refuses a Redis that nothing describes, because it may belong to a real account', async () => {
  const folder = temporaryFolder().path;
  await startRedis(folder, false);
  await expect(look(folder)).rejects.toThrow(
    /nothing says whether it belongs to a simulator or a real account/,
  );
});
