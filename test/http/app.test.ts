import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { loadLocalConfig } from '../../src/config/index.js';
import { createEvents } from '../../src/events/events.js';
import { createHttp, type HttpApp } from '../../src/http/index.js';
import { createVolley } from '../../src/runtime.js';
import { testRedis } from '../redis/test-redis.js';
import { served } from './api.js';

const { url, prefix } = testRedis('http-app');
const { origin, app, log } = await served({ REDIS_URL: url, REDIS_PREFIX: prefix });

let tellEnd = (): void => {};
const ended = new Promise<void>((resolve) => {
  tellEnd = resolve;
});
async function* endless(): AsyncGenerator<Buffer> {
  try {
    for (;;) yield Buffer.alloc(64 * 1024);
  } finally {
    tellEnd();
  }
}

test('a process that lives says so, and one that reaches Redis is ready', async () => {
  for (const path of ['/healthz', '/readyz']) {
    const reply = await fetch(`${origin}${path}`);
    expect([reply.status, await reply.json()]).toEqual([200, { status: 'ok' }]);
  }
});

test('a process whose Redis says nothing lives, and is not ready', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = silent.address();
  if (address === null || typeof address === 'string') throw new Error('it does not listen');
  const config = loadLocalConfig({ API_KEY: 'key', REDIS_URL: `redis://127.0.0.1:${address.port}` });
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  const other = createHttp({ volley, config });
  try {
    const own = await other.listen({ host: '127.0.0.1', port: 0 });
    expect((await fetch(`${own}/healthz`)).status).toBe(200);
    const reply = await fetch(`${own}/readyz`);
    expect(reply.status).toBe(503);
    expect((await fetch(`${own}/readyz`, { method: 'HEAD' })).status).toBe(503);
    expect(await reply.json()).toMatchObject({ code: 'unavailable', status: 503 });
  } finally {
    await other.close();
    await volley.close();
    silent.close();
  }
});

test('what is not there is a problem in the words of RFC 9457', async () => {
  const reply = await fetch(`${origin}/nowhere?number=%2B447700900123`);
  expect(reply.status).toBe(404);
  expect(reply.headers.get('content-type')).toBe('application/problem+json');
  expect(await reply.json()).toEqual({
    type: '/docs#problem-notFound',
    title: 'There is no such thing',
    status: 404,
    code: 'notFound',
    detail: 'there is nothing to GET at this address; /docs lists what there is',
  });
  // There is something to GET there.
  const deleted = await fetch(`${origin}/v1/campaigns`, { method: 'DELETE' });
  expect(await deleted.json()).toMatchObject({ status: 404, detail: expect.stringContaining('to DELETE') });
});

test('what nobody foresaw is told to the log and not to the caller', async () => {
  const also = (one: HttpApp): void => {
    one.get('/fails/:number', async () => {
      throw new Error('the reason');
    });
  };
  const { origin: own, log: told } = await served({ REDIS_URL: url, REDIS_PREFIX: prefix }, { also });
  const reply = await fetch(`${own}/fails/447700900123`);
  expect(reply.status).toBe(500);
  expect(await reply.text()).not.toContain('the reason');
  expect(told.join('')).toContain('GET /fails/:number failed: the reason');
  expect(told.join('')).not.toContain('447700900123');
});

test('whoever is refused while he sends hears the answer, and is let go', async () => {
  const { origin: own } = await served({ REDIS_URL: url, REDIS_PREFIX: prefix }, { lingerMs: 300 });
  const socket = connect(Number(new URL(own).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('POST /v1/campaigns HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome');
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
  // What he goes on sending is thrown away, until he has had his time.
  socket.on('error', () => {}).write('and more');
  await once(socket, 'close');
});

test('whoever reads nothing before he has sent all of a body that is too large hears why', async () => {
  const { origin: own, key } = await served({ REDIS_URL: url, REDIS_PREFIX: prefix, HTTP_MAX_JSON_MB: '1' });
  const socket = connect(Number(new URL(own).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
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

test.each(['POST /nowhere', 'POST /v1/nowhere', 'POST /healthz', 'PUT /v1/campaigns'])(
  'a body for an address where nothing is, is not read: %s',
  async (asked) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.write(
      `${asked} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{`,
    );
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
  },
);

test('whoever goes on sending what nobody asked for is let go', async () => {
  const { origin: own } = await served({ REDIS_URL: url, REDIS_PREFIX: prefix }, { lingerMs: 300 });
  const socket = connect(Number(new URL(own).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome');
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  await once(
    socket.on('error', () => {}),
    'close',
  );
});

test('whoever takes nothing in of a long answer is let go', async () => {
  const also = (one: HttpApp): void => {
    one.get('/much', async (_request, reply) => reply.send(Readable.from(endless(), { objectMode: false })));
  };
  const { origin: own } = await served({ REDIS_URL: url, REDIS_PREFIX: prefix }, { also, patienceMs: 300 });
  const socket = connect(Number(new URL(own).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.pause().write('GET /much HTTP/1.1\r\nHost: a\r\n\r\n');
  await ended;
  socket.destroy();
});

test('an answer that is slowly taken in is seen through when the server ends', async () => {
  const bytes = 20_000_000;
  const also = (one: HttpApp): void => {
    one.get('/long', async () => Buffer.alloc(bytes));
  };
  // It has been asked for whole, so that it is no matter how long it takes.
  const ending = await served({ REDIS_URL: url, REDIS_PREFIX: prefix }, { also, closeGraceMs: 100 });
  const socket = connect(Number(new URL(ending.origin).port), '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  socket.write('GET /long HTTP/1.1\r\nHost: a\r\n\r\n');
  let [{ length }] = await once(socket, 'data');
  socket.pause();
  const closed = ending.app.close();
  // Time for it to be cut off.
  await delay(500);
  socket.on('data', (piece) => {
    length += piece.length;
  });
  socket.resume();
  await once(socket, 'close');
  await closed;
  expect(length).toBeGreaterThan(bytes);
});

test('whoever has gone is not waited for', async () => {
  const lingerMs = 123_456;
  const timers = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => timers.mockRestore());
  const ending = await served({ REDIS_URL: url, REDIS_PREFIX: prefix }, { lingerMs });
  const socket = connect(Number(new URL(ending.origin).port), '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
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

test('the library loads no Fastify, the HTTP API does', async () => {
  const script = (module: string): string =>
    `import { createRequire } from 'node:module';
     await import('${module}');
     process.stdout.write(String(Object.keys(createRequire(import.meta.url).cache).some((path) => /node_modules.fastify/.test(path))));`;
  const run = async (module: string) =>
    (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script(module)])).stdout;
  expect([await run('volley'), await run('volley/http')]).toEqual(['false', 'true']);
  expect([app.server.listening, log]).toEqual([true, []]);
});

test('closing waits for no connection on which nothing was ever asked', async () => {
  const config = loadLocalConfig({ API_KEY: 'key', REDIS_URL: url, REDIS_PREFIX: prefix });
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  const other = createHttp({ volley, config });
  onTestFinished(() => volley.close());
  const { port } = new URL(await other.listen({ host: '127.0.0.1', port: 0 }));
  const client = connect(Number(port), '127.0.0.1');
  client.on('error', () => {});
  const ended = once(client, 'close');
  await Promise.all([once(client, 'connect'), once(other.server, 'connection')]);
  await other.close();
  await ended;
});
