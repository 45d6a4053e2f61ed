import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/base/redis/connection.js';
import { testRedis } from '../base/redis/test-redis.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

const { url, prefix, redis } = testRedis('proxy');
const COUNT = "return redis.call('INCR', KEYS[1])";
const SHA = createHash('sha1').update(COUNT).digest('hex');

/** A proxy to the test Redis and a client connected through it. */
async function toRedis(key: string) {
  const target = new URL(url);
  const proxy = await startTcpProxy(Number(target.port || 6379));
  target.host = `127.0.0.1:${proxy.port}`;
  const client = connect(target.toString());
  await redis.script('LOAD', COUNT);
  await client.ping();
  onTestFinished(async () => {
    client.disconnect();
    await proxy.close();
  });
  const name = `${prefix}-${key}`;
  return {
    proxy,
    address: target.toString(),
    client,
    count: () => client.evalsha(SHA, 1, name).catch(() => 'lost'),
    counted: async () => Number(await redis.get(name)),
  };
}

test('A connection cut before a script: the script does not run, and the client gets no reply', async () => {
  const { proxy, count, counted } = await toRedis('before');
  const triggered = proxy.trap({ on: 'request', matching: new RegExp(SHA), action: 'cutBefore' });
  expect(await count()).toBe('lost');
  await triggered;
  expect(await counted()).toBe(0);
  // A trap triggers only once.
  await expect.poll(count).toBe(1);
});

test('A connection cut after a script: the script runs, and the client gets no reply', async () => {
  const { proxy, count, counted } = await toRedis('after');
  const triggered = proxy.trap({ on: 'request', matching: new RegExp(SHA), action: 'cutAfter' });
  expect(await count()).toBe('lost');
  await triggered;
  await expect.poll(counted).toBe(1);
});

test('The action of a trap completes before the bytes are forwarded', async () => {
  const { proxy, count, counted } = await toRedis('hook');
  let seen = -1;
  const triggered = proxy.trap({
    on: 'reply',
    matching: /:1\r\n/,
    action: async () => {
      seen = await counted();
    },
  });
  expect(await count()).toBe(1);
  await triggered;
  expect(seen).toBe(1);
});

test('Ending idle connections leaves those alone that await a reply', async () => {
  const { proxy, address, client, count, counted } = await toRedis('idle');
  const other = connect(address);
  onTestFinished(() => other.disconnect());
  await other.ping();
  const ended = once(other, 'close');
  let isCut = false;
  client.once('close', () => {
    isCut = true;
  });
  proxy.hold();
  const answer = count();
  await expect.poll(counted).toBe(1);
  proxy.endIdle();
  await ended;
  proxy.release();
  expect(await answer).toBe(1);
  expect(isCut).toBe(false);
});

let requests = 0;
const server = createServer(async (request: IncomingMessage, response) => {
  requests += 1;
  request.resume();
  await once(request, 'end');
  response.end('x'.repeat(50));
});
let http: TcpProxy;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  http = await startTcpProxy((server.address() as AddressInfo).port);
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

test('A trap on the reply forwards the request and cuts the connection before the reply', async () => {
  const before = requests;
  const triggered = http.trap({ on: 'reply', action: 'cutBefore' });
  expect(await post()).toBe('lost');
  await triggered;
  expect(requests - before).toBe(1);
});

test('A trap on the connection runs its action before any request arrives', async () => {
  const before = requests;
  let whenConnected = -1;
  const triggered = http.trap({
    on: 'connection',
    action: async () => {
      whenConnected = requests - before;
    },
  });
  expect(await post()).toHaveLength(50);
  await triggered;
  expect(whenConnected).toBe(0);
});

test('Delayed replies arrive late and byte by byte', async () => {
  http.shapeTraffic({ delayMs: 50, dripMs: 1 });
  const began = performance.now();
  expect(await post()).toHaveLength(50);
  expect(performance.now() - began).toBeGreaterThan(150);
  http.shapeTraffic({ delayMs: 0, dripMs: 0 });
});
