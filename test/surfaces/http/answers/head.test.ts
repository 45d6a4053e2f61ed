import { text } from 'node:stream/consumers';
import type { OpenAPIV3_1 } from 'openapi-types';
import { expect, test } from 'vitest';
import { laneCallback } from '../../../../src/base/config/index.js';
import { keyNames } from '../../../../src/base/redis/keys.js';
import { sendStream } from '../../../../src/surfaces/http/answers/body-stream.js';
import { client } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const CALLBACK = { url: 'https://volley.example/sms/in', securityToken: 'a-token-of-some-length' } as const;
const { api, prefix, redis } = scene('http-head');
let generated = 0;
async function* long(): AsyncGenerator<string> {
  while (generated < 2) {
    generated += 1;
    yield `piece ${generated}, `;
  }
}
const { app, call, key, origin, volley } = await api(
  {
    CALLBACK_URL: CALLBACK.url,
    CALLBACK_SECURITY_TOKEN: CALLBACK.securityToken,
    SECRETS_KEY: 'a'.repeat(64),
  },
  { also: (api) => void api.get('/long', (_request, reply) => sendStream(reply, long(), volley)) },
);
const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenAPIV3_1.Document;
const body = { recipients: [{ to: '+447700900123' }], message: 'Hi', sendAt: '2999-01-01T00:00:00Z' };
const { id } = (await call('POST', '/v1/campaigns', { body })).json as { id: string };
const schedule = { id, cron: '0 9 * * 1', zone: 'Europe/London', lane: 'default', message: 'Hi' };
await call('POST', '/v1/schedules', { body: { ...schedule, recipients: body.recipients } });
const own = await key();
const { id: keyId } = await volley.keys.create({ name: 'shown', scopes: ['read'] });
const webhook = (await call('POST', '/v1/webhooks', { body: { url: 'https://shop.example/volley' } }))
  .json as { id: string };
const keys = keyNames(prefix);
const request = { id: 'records', lane: 'default', state: 'pending', from: '2026-01-01', to: '2026-01-02' };
await redis.sadd(keys.recordsCredentials, 'lane-default');
await redis.hset(keys.records('lane-default', 'request:records'), {
  ...request,
  parameters: '{}',
  key: 'k',
  claimedUntil: 1,
  sentAt: 1,
  createdAt: 1,
  updatedAt: 1,
});

/** The head of a response, without the headers that change from one response to the next. */
async function headOf(method: string, path: string, headers: Record<string, string> = {}) {
  const over = new AbortController();
  const reply = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${own}`, ...headers },
    signal: over.signal,
  });
  const json = method === 'HEAD' ? await reply.text() : '';
  over.abort();
  const stable = [...reply.headers].filter(
    ([name]) => !/^(date|x-request-id|ratelimit-(?:remaining|reset))$/.test(name),
  );
  return { status: reply.status, json, headers: Object.fromEntries(stable) };
}

/** Their lengths change with their values: times in milliseconds, counts, and bytes. */
const CHANGING = ['/metrics', '/v1/doctor'];
/** Headers about the connection, or about a chunked body. */
const CONNECTION_HEADERS = { connection: undefined, 'keep-alive': undefined, 'transfer-encoding': undefined };

test('HEAD returns the headers of GET and no body', async () => {
  await volley.outboxes.create({ name: 'default', message: 'Hi {{name}}' });
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  await volley.outbox('default').put({ id, to: '+447700900123', name: 'Ada', sendAt });
  const described = Object.entries(document.paths ?? {})
    // A download begins at the service, and has no HEAD. No lane is stored here, so none has settings to show.
    .filter(([path, item]) => item?.get !== undefined && !/\/(?:download|settings)$/.test(path))
    .map(([path]) => path.replace('/records/{id}', '/records/records'))
    .map((path) => path.replace('/webhooks/{id}', `/webhooks/${webhook.id}`))
    .map((path) => path.replace('/keys/{id}', `/keys/${keyId}`))
    .map((path) => path.replace('/suppressions/{number}', '/suppressions/%2B447700900123'))
    .map((path) => path.replace('{id}', id).replace('{name}', 'default'));
  expect(described.length).toBeGreaterThan(9);
  for (const path of [...described, '/docs', '/openapi.json']) {
    const get = await headOf('GET', path);
    const head = await headOf('HEAD', path);
    expect([path, head.status, head.json]).toEqual([path, 200, '']);
    const own = CHANGING.includes(path) ? { 'content-length': expect.any(String) } : {};
    expect([path, { ...head.headers, ...CONNECTION_HEADERS }]).toEqual([
      path,
      { ...get.headers, ...own, ...CONNECTION_HEADERS },
    ]);
  }
});

test('HEAD is rejected where GET is', async () => {
  for (const path of ['/v1/campaigns/nowhere/report', '/v1/campaigns/nowhere/events', '/v1/lanes/other']) {
    expect([path, (await headOf('HEAD', path)).status]).toEqual([path, 404]);
  }
  expect((await headOf('HEAD', '/v1/events', { 'last-event-id': 'none' })).status).toBe(400);
  expect((await headOf('HEAD', '/v1/suppressions', { authorization: 'Bearer vk_none' })).status).toBe(401);
  expect(await headOf('HEAD', '/v1/find')).toMatchObject({ status: 405, headers: { allow: 'POST' } });
});

test('HEAD does not generate a long response', async () => {
  expect((await headOf('HEAD', '/long')).status).toBe(200);
  // By the time of the next response, a body would have been started.
  expect((await headOf('GET', '/healthz')).status).toBe(200);
  expect(generated).toBe(0);
  expect(await call('GET', '/long')).toMatchObject({ status: 200, json: 'piece 1, piece 2, ' });
  expect(generated).toBe(2);
});

test('HEAD starts no event stream, so the connection can carry the next request', async () => {
  const socket = client(origin);
  const head = `HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${own}\r\n`;
  socket.write(`HEAD /v1/events ${head}\r\nGET /healthz ${head}Connection: close\r\n\r\n`);
  expect((await text(socket)).match(/^HTTP\/1\.1 .*|^\{.*/gm)).toEqual([
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200 OK',
    '{"status":"ok"}',
  ]);
});

test('The callback address answers HEAD without a length', async () => {
  const { segment } = laneCallback({ ...CALLBACK, proof: 'token' }, 'default');
  for (const path of ['/sms/in', '/callbacks']) {
    const reply = await app.inject({ method: 'HEAD', url: `${path}/${segment}` });
    expect([path, reply.statusCode, reply.headers['content-length']]).toEqual([path, 204, undefined]);
    expect((await app.inject({ method: 'HEAD', url: `${path}/nowhere` })).statusCode).toBe(404);
  }
});
