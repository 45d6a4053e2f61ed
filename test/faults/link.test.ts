import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/redis/connection.js';
import { testRedis } from '../redis/test-redis.js';
import { type Link, openLink } from './link.js';

const { url, prefix, redis } = testRedis('link');
const COUNT = "return redis.call('INCR', KEYS[1])";
const SHA = createHash('sha1').update(COUNT).digest('hex');

/** A way to the run's Redis, and a connection that goes it. */
async function toRedis(key: string) {
  const target = new URL(url);
  const link = await openLink(Number(target.port || 6379));
  target.host = `127.0.0.1:${link.port}`;
  const client = connect(target.toString());
  await redis.script('LOAD', COUNT);
  await client.ping();
  onTestFinished(async () => {
    client.disconnect();
    await link.close();
  });
  const name = `${prefix}-${key}`;
  return {
    link,
    count: () => client.evalsha(SHA, 1, name).catch(() => 'lost'),
    counted: async () => Number(await redis.get(name)),
  };
}

test('a connection is cut before a script: it does not run, and nobody hears of it', async () => {
  const { link, count, counted } = await toRedis('before');
  const sprung = link.trap({ on: 'request', holding: new RegExp(SHA), deed: 'cutBefore' });
  expect(await count()).toBe('lost');
  await sprung;
  expect(await counted()).toBe(0);
  // A trap is sprung once.
  await expect.poll(count).toBe(1);
});

test('a connection is cut after a script: it runs, and nobody hears of it', async () => {
  const { link, count, counted } = await toRedis('after');
  const sprung = link.trap({ on: 'request', holding: new RegExp(SHA), deed: 'cutAfter' });
  expect(await count()).toBe('lost');
  await sprung;
  await expect.poll(counted).toBe(1);
});

test('what a trap does is done before the bytes go on', async () => {
  const { link, count, counted } = await toRedis('hook');
  let seen = -1;
  const sprung = link.trap({
    on: 'reply',
    holding: /:1\r\n/,
    deed: async () => {
      seen = await counted();
    },
  });
  expect(await count()).toBe(1);
  await sprung;
  expect(seen).toBe(1);
});

test('replies that are held come when they are released', async () => {
  const { link, count, counted } = await toRedis('hold');
  link.hold();
  const answer = count();
  await expect.poll(counted).toBe(1);
  expect(await Promise.race([answer, Promise.resolve('held')])).toBe('held');
  link.release();
  expect(await answer).toBe(1);
});

let requests = 0;
const server = createServer(async (request: IncomingMessage, response) => {
  requests += 1;
  request.resume();
  await once(request, 'end');
  response.end('x'.repeat(50));
});
let http: Link;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  http = await openLink((server.address() as AddressInfo).port);
});
afterAll(async () => {
  await http.close();
  server.close();
});
const post = async (): Promise<string> => {
  const request = { method: 'POST', body: 'hello', headers: { connection: 'close' } };
  return fetch(`http://127.0.0.1:${http.port}/`, request).then(
    (response) => response.text(),
    () => 'lost',
  );
};

test('a request is passed on and its reply cut off', async () => {
  const before = requests;
  const sprung = http.trap({ on: 'reply', deed: 'cutBefore' });
  expect(await post()).toBe('lost');
  await sprung;
  expect(requests - before).toBe(1);
});

test('a connection can be waited for before anything is written on it', async () => {
  const before = requests;
  let whenConnected = -1;
  const sprung = http.trap({
    on: 'connection',
    deed: async () => {
      whenConnected = requests - before;
    },
  });
  expect(await post()).toHaveLength(50);
  await sprung;
  expect(whenConnected).toBe(0);
});

test('bytes are late, and drip', async () => {
  http.travel({ delayMs: 50, dripMs: 1 });
  const began = performance.now();
  expect(await post()).toHaveLength(50);
  expect(performance.now() - began).toBeGreaterThan(150);
  http.travel({ delayMs: 0, dripMs: 0 });
});

test('new connections go where it is pointed to, and old ones are cut', async () => {
  const other = createServer((_request, response) => void response.end('other'));
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  http.retarget((other.address() as AddressInfo).port);
  http.cut();
  expect(await post()).toBe('other');
  http.retarget((server.address() as AddressInfo).port);
});
