import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SOON } from '../../../base/soon.js';
import type { ApiServer } from '../../../scene/api.js';
import { client } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api } = scene('http-slow-clients');

/** Begins a request on a connection of its own, and collects what is answered. */
async function begin({ origin }: ApiServer, head: readonly string[], body = '') {
  const socket = client(origin);
  let answer = '';
  socket.on('data', (piece) => {
    answer += String(piece);
  });
  await once(socket, 'connect');
  socket.write(`${[...head, 'Host: a'].join('\r\n')}\r\n\r\n${body}`);
  return { socket, answer: () => answer };
}

const jsonOf = (path: string, key: string, length: number) => [
  `POST ${path} HTTP/1.1`,
  `Authorization: Bearer ${key}`,
  'Content-Type: application/json',
  `Content-Length: ${length}`,
];

/** From now on, the rate of bodies is measured in time that the test lets pass. */
function virtualTime() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  return {
    /** Resolves when a body is measured. */
    isMeasured: () => vi.waitUntil(() => vi.getTimerCount() > 0, SOON),
    pass: (ms: number) => vi.advanceTimersByTime(ms),
  };
}

test('A body that arrives too slowly gets a 408, and its connection is closed', async () => {
  const server = await api({}, { bodyRate: { minBytesPerSecond: 1_000, period: '10s' } });
  const own = await server.key();
  const time = virtualTime();
  const { socket, answer } = await begin(server, jsonOf('/v1/preview', own, 900_000), '{"message":');
  await time.isMeasured();
  socket.write(' '.repeat(9_000));
  time.pass(10_000);
  await once(socket, 'close');
  expect(answer()).toMatch(/^HTTP\/1\.1 408 /);
  expect(answer()).toContain('"code":"requestTimeout"');
});

test('A body that waits because the server does not read it is not too slow', async () => {
  const server = await api({}, { bodyRate: { minBytesPerSecond: 20_000, period: '10s' } });
  await server.volley.outboxes.create({ name: 'box', message: 'Hi' });
  const own = await server.key();
  const lines = Array.from({ length: 20_000 }, (_, at) => `{"id":"${at}","to":"+447700900123"}`).join('\n');
  // Nothing is stored for several periods.
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { as } = server.volley;
  vi.spyOn(server.volley, 'as').mockImplementation((actor) => {
    const operated = as.call(server.volley, actor);
    return {
      ...operated,
      outbox: (name: string) => {
        const outbox = operated.outbox(name);
        return {
          ...outbox,
          async *import(list, options) {
            await held;
            yield* outbox.import(list, options);
          },
        };
      },
    };
  });
  let request: IncomingMessage | undefined;
  server.app.server.once('request', (arrived) => {
    request = arrived;
  });
  const time = virtualTime();
  const replying = server.call('POST', '/v1/outboxes/box/messages', {
    key: own,
    headers: { 'content-type': 'application/x-ndjson' },
    text: lines,
  });
  await time.isMeasured();
  await vi.waitUntil(() => request && request.readableLength >= request.readableHighWaterMark, SOON);
  time.pass(50_000);
  release();
  const { status, json } = await replying;
  expect([status, String(json).trim().split('\n').length]).toEqual([200, 20_000]);
});

test('A key has a number of connections with requests in progress, and another key is not limited by it', async () => {
  const server = await api({}, { maxConnectionsPerKey: 3 });
  const [busy, other] = [await server.key(), await server.key()];
  const open = await Promise.all(
    Array.from({ length: 3 }, () => begin(server, jsonOf('/v1/preview', busy, 50_000), '{"message":"Hi"')),
  );
  await expect.poll(async () => (await server.call('GET', '/v1/lanes', { key: busy })).status).toBe(429);
  expect(await server.call('GET', '/v1/lanes', { key: busy })).toMatchObject({
    json: { detail: 'Requests of this key are in progress on 3 connections. Retry in 1 s.' },
  });
  expect((await server.call('GET', '/v1/lanes', { key: other })).status).toBe(200);
  for (const { socket } of open) socket.destroy();
  await expect.poll(async () => (await server.call('GET', '/v1/lanes', { key: busy })).status).toBe(200);
});

test('Slow lists of one key do not keep another key from uploading a list', async () => {
  const server = await api({ HTTP_LIST_MEMORY_MB: '64' });
  const [busy, other] = [await server.key(), await server.key()];
  for (let at = 0; at < 6; at += 1)
    await begin(server, jsonOf('/v1/preview', busy, 5_000_000), '{"message":"Hi"');
  await expect.poll(async () => (await server.call('GET', '/v1/lanes', { key: busy })).status).toBe(200);
  const recipients = Array.from({ length: 10_000 }, () => ({ to: '+447700900123' }));
  const preview = await server.call('POST', '/v1/preview', {
    key: other,
    body: { message: 'Hi', recipients },
  });
  expect(preview).toMatchObject({ status: 200, json: { recipientCount: 1, duplicates: 9_999 } });
});

test.each(['/v1/campaigns', '/healthz'])('A request to %s with two Host headers is refused', async (path) => {
  const server = await api();
  const { socket, answer } = await begin(server, [`GET ${path} HTTP/1.1`, 'hOsT: b', 'Connection: close']);
  await once(socket, 'close');
  expect(answer()).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer()).toContain('There is more than one header `Host`.');
});

test.each(['Authorization', 'Content-Type', 'Idempotency-Key'])(
  'A request with two %s headers is refused: a proxy in front may have read the other one',
  async (name) => {
    const server = await api();
    const twice = [`${name}: a`, `${name.toLowerCase()}: b`];
    const { socket, answer } = await begin(server, ['GET /healthz HTTP/1.1', ...twice, 'Connection: close']);
    await once(socket, 'close');
    expect(answer()).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer()).toContain(`There is more than one header \`${name}\`.`);
  },
);
