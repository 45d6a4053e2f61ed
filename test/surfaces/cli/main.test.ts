import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { scene } from '../../scene/scene.js';

/* The pipes of a process: their readers may leave. */

const { folder, open, settings } = scene('cli-main', {
  settings: { API_KEY: 'key', SENDER_ADDRESS: 'ACME' },
});
const { PATH = '' } = process.env;
const MAIN = 'src/surfaces/cli/main.js';

function start(program: string, ...args: readonly string[]): ChildProcessByStdio<null, Readable, Readable> {
  const child = spawn(process.execPath, [resolve('dist', program), ...args], {
    cwd: folder,
    env: { PATH, HTTP_PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test.each([
  ['volley serve', MAIN, 'serve'],
  ['workers/http', 'workers/http.js'],
])('%s drains, and ends with 0, after the reader of its log has left', async (_, program, ...args) => {
  const child = start(program, ...args);
  child.stdout.resume();
  for await (const text of child.stderr.setEncoding('utf8'))
    if (String(text).includes('process.ready')) break;
  // It logs that it drains.
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('volley outbox cancel-some cancels everything although its reader leaves after the first line', async () => {
  const volley = open();
  await volley.outboxes.create({ name: 'visits', message: 'Hi {{name}}' });
  const outbox = volley.outbox('visits');
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  const messages = Array.from({ length: 2_000 }, (_, at) => ({
    ...{ id: `message-${at}-${'x'.repeat(40)}`, to: '+447700900123', name: 'Ada', sendAt, tag: 'shop-1' },
  }));
  for await (const { outcome } of outbox.putAll(messages)) expect(outcome).toBe('created');
  const child = start(MAIN, 'outbox', 'cancel-some', 'visits', '--tag', 'shop-1');
  child.stderr.resume();
  for await (const _line of child.stdout) break;
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect((await outbox.status()).counts).toMatchObject({ cancelled: 2_000, waiting: 0 });
});
