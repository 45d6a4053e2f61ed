import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { createEvents } from '../../../src/base/events/events.js';
import { serveMetrics, startMetrics } from '../../../src/surfaces/metrics/index.js';

const metrics = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  process: async () => 'a 1',
  fleet: async () => 'b 2',
  http: () => () => () => {},
  close: () => {},
};

async function served() {
  const server = await serveMetrics(metrics, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  return server;
}

test('The process and the fleet have separate endpoints', async () => {
  const { url } = await served();
  const own = await fetch(`${url}/metrics`);
  expect([own.status, own.headers.get('content-type'), await own.text()]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
    'a 1\n',
  ]);
  expect(await (await fetch(`${url}/metrics/fleet?now`)).text()).toBe('b 2\n');
  const head = await fetch(`${url}/metrics`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

test('Other paths return 404 and other methods 405', async () => {
  const { url } = await served();
  for (const path of ['/', '/metrics/', '/metrics/process']) {
    expect((await fetch(url + path)).status, path).toBe(404);
  }
  expect((await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })).status).toBe(405);
});

test('If metrics cannot be read, only that connection is closed', async () => {
  const broken = { ...metrics, process: () => Promise.reject(new Error('no')) };
  const server = await serveMetrics(broken, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  await expect(fetch(`${server.url}/metrics`)).rejects.toThrow();
  expect(await (await fetch(`${server.url}/metrics/fleet`)).text()).toBe('b 2\n');
});

test('Closing does not wait for idle connections', async () => {
  const server = await serveMetrics(metrics, { host: '127.0.0.1', port: 0 });
  const idle = request(`${server.url}/metrics`, { headers: { connection: 'keep-alive' } });
  const broken = new Promise((resolve) => idle.on('error', resolve));
  await new Promise((resolve) => idle.on('socket', (socket) => socket.once('connect', resolve)));
  await server.close();
  await expect(broken).resolves.toBeInstanceOf(Error);
});

test('A port in use is reported, and the process continues', async () => {
  const { url } = await served();
  const events = createEvents({ level: 'silent' });
  const failed = events.next('metrics.failed');
  const stop = await startMetrics({
    volley: { events, fleetSnapshot: () => Promise.reject(new Error('not called')) },
    config: { lanes: [{ name: 'acme' }], metrics: { host: '127.0.0.1', port: Number(new URL(url).port) } },
    role: 'send',
  });
  expect((await failed).error).toMatchObject({ code: 'EADDRINUSE' });
  await stop();
});

test('A request under an unknown name is refused, because a web page may have caused it', async () => {
  const onAll = await serveMetrics(metrics, { host: '0.0.0.0', port: 0, allowedHosts: ['metrics.example'] });
  const onLoopback = await served();
  onTestFinished(() => onAll.close());
  const statusOf = async (url: string, host: string): Promise<number | undefined> => {
    const sent = request(new URL('/metrics', url.replace('0.0.0.0', '127.0.0.1')), {
      headers: { host },
    }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  expect(await statusOf(onAll.url, 'metrics.example')).toBe(200);
  expect(await statusOf(onAll.url, 'attacker.example')).toBe(421);
  expect(await statusOf(onLoopback.url, 'localhost')).toBe(200);
  expect(await statusOf(onLoopback.url, 'attacker.example')).toBe(421);
  const { headers } = await fetch(`${onLoopback.url}/metrics`);
  expect([headers.get('x-content-type-options'), headers.get('cache-control')]).toEqual([
    'nosniff',
    'no-store',
  ]);
});
