import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as anyTest, expect, onTestFinished, vi } from 'vitest';
import { connect } from '../../src/redis/connection.js';
import { findEmbedded, type StartedEmbedded, startEmbedded } from '../../src/redis/embedded.js';
import { findServer } from '../../src/redis/find-server.js';

// `volley up` brings a program of the machine to life; tests of it need one, whatever Redis the others have.
const test = anyTest.skipIf((await findServer()) === undefined);

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-embedded-'));
  // A server that ends by itself may still be putting its files away.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 }));
  return folder;
}

async function start(cwd: string): Promise<StartedEmbedded> {
  const outcome = await startEmbedded(cwd, () => {});
  if (outcome.kind === 'started') onTestFinished(() => outcome.server.stop());
  return outcome;
}

function serverOf(outcome: StartedEmbedded) {
  if (outcome.kind !== 'started') throw new Error('it ran already');
  return outcome.server;
}

test('a folder below finds the embedded Redis, and nothing once it has stopped', async () => {
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

test('a second start says that it runs already, also from a folder below', async () => {
  const folder = await emptyFolder();
  const { url, pid } = serverOf(await start(folder));
  const below = join(folder, 'lists');
  await mkdir(below);
  expect(await start(below)).toEqual({ kind: 'running', url, pid, dir: join(folder, '.volley') });
});

test('of several starts at the same moment one starts it and the others find it', async () => {
  const folder = await emptyFolder();
  const outcomes = await Promise.all([start(folder), start(folder), start(folder)]);
  expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['running', 'running', 'started']);
  expect(new Set(outcomes.map(({ url }) => url)).size).toBe(1);
});

test('the data and the address outlive a stop', async () => {
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

test('the file with the password is for its owner alone', async () => {
  const folder = await emptyFolder();
  await start(folder);
  expect((await stat(join(folder, '.volley', 'redis.json'))).mode & 0o777).toBe(0o600);
});

test('another program on the port is named as the fault, with what to do', async () => {
  const folder = await emptyFolder();
  const first = serverOf(await start(folder));
  await first.stop();
  const stranger = createServer((socket) => socket.end('not a redis\r\n')).listen(first.port, '127.0.0.1');
  await once(stranger, 'listening');
  onTestFinished(() => void stranger.close());
  await expect(startEmbedded(folder, () => {})).rejects.toThrow(
    `If another program uses port ${first.port}, stop it, or delete`,
  );
});

test('it ends by itself when the process that started it is killed', async () => {
  const folder = await emptyFolder();
  const module = new URL('../../dist/src/redis/embedded.js', import.meta.url).href;
  const owner = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `const { startEmbedded } = await import(${JSON.stringify(module)});
       const { server } = await startEmbedded(${JSON.stringify(folder)}, () => {});
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
  await vi.waitFor(async () => expect(await findEmbedded(folder)).toBeUndefined(), { timeout: 5_000 });
});
