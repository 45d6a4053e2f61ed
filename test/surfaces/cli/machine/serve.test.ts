import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell } = scene('cli-serve', { settings: { API_KEY: 'key' } });

test('volley serve responds until it gets a signal, and needs no credentials', async () => {
  const serving = await shell({ API_KEY: '', HTTP_PORT: '0' }).start(/It serves 1 lane/, 'serve');
  const address = /HTTP API is at (\S+),/.exec(serving.stderr)?.[1] ?? '';
  expect((await fetch(`${address}/readyz`)).status).toBe(200);
  expect((await fetch(`${address}/v1/lanes`)).status).toBe(401);
  const stream = await fetch(`${address}/docs`);
  expect(await stream.text()).toContain('Volley');
  expect((await serving.stop()).exit).toBe(0);
});

test('volley serve names a port that is in use and the setting to change', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const port = (other.address() as { port: number }).port;
  const { exit, stderr } = await shell({ HTTP_PORT: String(port) }).volley('serve');
  expect([exit, stderr]).toEqual([
    2,
    `volley: Port ${port} of 127.0.0.1 is in use: set HTTP_PORT to another port, or to 0 for any free one.\n`,
  ]);
});

test('On an address that others can reach, volley serve requires SECRETS_KEY, unless ALLOW_INSECURE lists keys', async () => {
  const open = { HTTP_HOST: '0.0.0.0', HTTP_PORT: '0' };
  const { exit, stderr } = await shell(open).volley('serve');
  expect([exit, stderr]).toEqual([
    2,
    expect.stringContaining('HTTP_HOST is 0.0.0.0, so SECRETS_KEY must be set'),
  ]);
  for (const more of [{ SECRETS_KEY: 'a'.repeat(64) }, { ALLOW_INSECURE: 'keys' }]) {
    const serving = await shell({ ...open, ...more }).start(/It serves 1 lane/, 'serve');
    expect((await serving.stop()).exit).toBe(0);
  }
});
