import { once } from 'node:events';
import { createServer } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { HttpApp } from '../../../src/surfaces/http/index.js';
import { client } from '../../scene/api.js';
import { scene } from '../../scene/scene.js';

const { api } = scene('http-app');
const { origin } = await api();

let onEnd = (): void => {};
const ended = new Promise<void>((resolve) => {
  onEnd = resolve;
});
async function* endless(): AsyncGenerator<Buffer> {
  try {
    for (;;) yield Buffer.alloc(64 * 1024);
  } finally {
    onEnd();
  }
}

test('A process is alive, and ready while Redis responds', async () => {
  for (const path of ['/healthz', '/readyz']) {
    const reply = await fetch(`${origin}${path}`);
    expect([reply.status, await reply.json()]).toMatchObject([200, { status: 'ok' }]);
  }
});

test('A process whose Redis does not respond is alive but not ready', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = silent.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen');
  onTestFinished(() => void silent.close());
  const { origin: own } = await api({ REDIS_URL: `redis://127.0.0.1:${address.port}` });
  expect((await fetch(`${own}/healthz`)).status).toBe(200);
  const reply = await fetch(`${own}/readyz`);
  expect(reply.status).toBe(503);
  expect((await fetch(`${own}/readyz`, { method: 'HEAD' })).status).toBe(503);
  expect(await reply.json()).toMatchObject({ code: 'unavailable', status: 503 });
});

test('An unknown address returns a problem document', async () => {
  const reply = await fetch(`${origin}/nowhere?number=%2B447700900123`);
  expect(reply.status).toBe(404);
  expect(reply.headers.get('content-type')).toBe('application/problem+json');
  expect(await reply.json()).toEqual({
    type: '/docs#problem-notFound',
    title: 'Not found',
    status: 404,
    code: 'notFound',
    detail: 'There is nothing to GET at this address.',
    errors: [],
  });
});

test('An unexpected error is logged and not revealed to the client', async () => {
  const also = (one: HttpApp): void => {
    one.get('/fails/:number', async () => {
      throw new Error('the reason');
    });
  };
  const { origin: own, log: lines } = await api({}, { also });
  const reply = await fetch(`${own}/fails/447700900123`);
  expect(reply.status).toBe(500);
  expect(await reply.text()).not.toContain('the reason');
  expect(lines.join('')).toMatch(/GET \/fails\/:number \([\w…-]{30,36}\) failed: the reason/);
  expect(lines.join('')).not.toContain('447700900123');
});

test('A client that is rejected while it sends its body receives the response, and is later disconnected', async () => {
  const { origin: own } = await api({}, { linger: '300ms' });
  const socket = client(own);
  socket.write('POST /v1/campaigns HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome');
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
  // The rest of the body is discarded until the time is up.
  socket.write('and more');
  await once(socket, 'close');
});

test('A client that reads only after sending a body that is too large receives the response', async () => {
  const { origin: own, key } = await api();
  const socket = client(own);
  socket.pause();
  const body = Buffer.alloc(20_000_000, ' ');
  socket.write(
    `POST /v1/find HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await key()}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  await new Promise<void>((resolve, reject) => {
    socket.write(body, (error) => (error ? reject(error) : resolve()));
  });
  socket.resume();
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
});

test.each([
  ['POST /nowhere', 404],
  ['POST /v1/nowhere', 404],
  ['POST /healthz', 405],
  ['PUT /v1/campaigns', 405],
  ['POST /callbacks/guess', 404],
] as const)(
  'The body of a request to an unknown address or with a wrong method is not read: %s',
  async (requestLine, status) => {
    const socket = client(origin);
    socket.write(
      `${requestLine} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{`,
    );
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  },
);

test('A client that keeps sending an unneeded body is disconnected', async () => {
  const { origin: own } = await api({}, { linger: '300ms' });
  const socket = client(own);
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome');
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  await once(socket, 'close');
});

test('A client that does not read a long response is disconnected', async () => {
  const also = (one: HttpApp): void => {
    one.get('/much', async (_request, reply) => reply.send(Readable.from(endless(), { objectMode: false })));
  };
  const { origin: own } = await api({}, { also, stallTimeout: '300ms' });
  const socket = client(own);
  socket.pause().write('GET /much HTTP/1.1\r\nHost: a\r\n\r\n');
  await expect(ended).resolves.toBeUndefined();
  socket.destroy();
});

test('A response that is read slowly finishes when the server closes', async () => {
  const bytes = 20_000_000;
  const also = (one: HttpApp): void => {
    one.get('/long', async () => Buffer.alloc(bytes));
  };
  // The grace period is for incomplete requests; a response may take longer.
  const ending = await api({}, { also, closeGrace: '100ms' });
  const socket = client(ending.origin);
  socket.write('GET /long HTTP/1.1\r\nHost: a\r\n\r\n');
  let [{ length }] = await once(socket, 'data');
  socket.pause();
  const closed = ending.app.close();
  // Longer than the grace period.
  await delay(500);
  socket.on('data', (piece) => {
    length += piece.length;
  });
  socket.resume();
  await once(socket, 'close');
  await closed;
  expect(length).toBeGreaterThan(bytes);
});

test('The server does not wait for a client that has disconnected', async () => {
  const lingerMs = 123_456;
  const timers = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => timers.mockRestore());
  const ending = await api({}, { linger: `${lingerMs}ms` });
  const socket = client(ending.origin);
  const head = `POST /v1/preview HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await ending.key()}\r\n`;
  const refused = new Promise((resolve) => {
    ending.app.server.once('request', (request) => request.once('close', () => setImmediate(resolve)));
  });
  const form = '--b\r\nContent-Disposition: form-data; name="campaign"\r\n\r\n{';
  socket.write(
    `${head}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 999\r\n\r\n${form}`,
    () => socket.destroy(),
  );
  await refused;
  await ending.app.close();
  expect(timers.mock.calls.filter(([, ms]) => ms === lingerMs)).toEqual([]);
});

test('Closing does not wait for a connection that never carried a request', async () => {
  const { app: other, origin: own } = await api();
  const idle = client(own);
  const ended = once(idle, 'close');
  await Promise.all([once(idle, 'connect'), once(other.server, 'connection')]);
  await other.close();
  await expect(ended).resolves.toHaveLength(1);
});
