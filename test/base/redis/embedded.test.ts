import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as anyTest, expect, onTestFinished, vi } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { findEmbedded, type StartedEmbedded, startEmbedded } from '../../../src/base/redis/embedded.js';
import { findServer } from '../../../src/base/redis/find-server.js';

// `volley up` starts a program of this machine, so these tests need one, whichever Redis the other tests use.
const NO_INSTALL = { install: false, installer: 'volley up --install', announce: () => {} };

const test = anyTest.skipIf((await findServer()) === undefined);

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-embedded-'));
  // A server that is shutting down may still be writing its files.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 }));
  return folder;
}

async function start(cwd: string): Promise<StartedEmbedded> {
  const outcome = await startEmbedded(cwd, NO_INSTALL);
  if (outcome.kind === 'started') onTestFinished(() => outcome.server.stop());
  return outcome;
}

function serverOf(outcome: StartedEmbedded) {
  if (outcome.kind !== 'started') throw new Error('it was already running');
  return outcome.server;
}

test('the embedded Redis is found from a subfolder while it runs', async () => {
  const folder = await emptyFolder();
  const below = join(folder, 'lists', 'spring');
  await mkdir(below, { recursive: true });
  expect(await findEmbedded(below)).toBeUndefined();
  const started = serverOf(await start(folder));
  expect(await findEmbedded(below)).toEqual({
    url: started.url,
    pid: started.pid,
    dir: join(folder, '.volley'),
  });
  await started.stop();
  expect(await findEmbedded(below)).toBeUndefined();
});

test('a second start reports that the embedded Redis is already running, also from a subfolder', async () => {
  const folder = await emptyFolder();
  const { url, pid } = serverOf(await start(folder));
  const below = join(folder, 'lists');
  await mkdir(below);
  expect(await start(below)).toEqual({ kind: 'running', url, pid, dir: join(folder, '.volley') });
});

test('one of several simultaneous starts starts the embedded Redis, and the others find it', async () => {
  const folder = await emptyFolder();
  const outcomes = await Promise.all([start(folder), start(folder), start(folder)]);
  expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['running', 'running', 'started']);
  expect(new Set(outcomes.map(({ url }) => url)).size).toBe(1);
});

test('the embedded Redis keeps its data and address across a restart', async () => {
  const folder = await emptyFolder();
  const first = serverOf(await start(folder));
  const redis = connect(first.url);
  onTestFinished(() => redis.disconnect());
  await redis.set('kept', 'yes');
  await first.stop();
  const second = serverOf(await start(folder));
  expect(second.url).toBe(first.url);
  expect(await redis.get('kept')).toBe('yes');
});

test('only its owner can read the file with the password of the embedded Redis', async () => {
  const folder = await emptyFolder();
  await start(folder);
  expect((await stat(join(folder, '.volley', 'redis.json'))).mode & 0o777).toBe(0o600);
});

test('a port in use by another program is reported with what to do', async () => {
  const folder = await emptyFolder();
  const first = serverOf(await start(folder));
  await first.stop();
  const stranger = createServer((socket) => socket.end('not a redis\r\n')).listen(first.port, '127.0.0.1');
  await once(stranger, 'listening');
  onTestFinished(() => void stranger.close());
  await expect(startEmbedded(folder, NO_INSTALL)).rejects.toThrow(
    `If another program uses port ${first.port}, stop it, or delete`,
  );
});

test('the embedded Redis ends when the process that started it is killed', async () => {
  const folder = await emptyFolder();
  const module = new URL('../../../dist/src/base/redis/embedded.js', import.meta.url).href;
  const owner = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `const { startEmbedded } = await import(${JSON.stringify(module)});
       const { server } = await startEmbedded(${JSON.stringify(folder)}, {});
       console.log(server.pid);
       setInterval(() => {}, 1000);`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(owner, 'exit').then(() => ['it ended before it started anything: is dist/ built?']);
  const [line] = await Promise.race([once(owner.stdout, 'data'), ended]);
  expect(String(line)).toMatch(/^\d+\s*$/);
  expect((await findEmbedded(folder))?.pid).toBe(Number(line));
  owner.kill('SIGKILL');
  await vi.waitFor(async () => expect(await findEmbedded(folder)).toBeUndefined(), 15_000);
});
