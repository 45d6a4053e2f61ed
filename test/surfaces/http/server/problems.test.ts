import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { client } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api } = scene('http-problems');
const { origin, call } = await api();

/** Sends bytes on a connection of their own and returns the response. */
async function responseTo(bytes: string) {
  const socket = client(origin);
  socket.end(bytes);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  const [line = '', ...headers] = head.split('\r\n');
  return { line, headers: headers.join('\n').toLowerCase(), body };
}

test.each([
  [
    'too many headers',
    `GET /v1/lanes HTTP/1.1\r\nHost: a\r\nA: ${'b'.repeat(20_000)}\r\n\r\n`,
    431,
    'headersTooLarge',
  ],
  ['no Host', 'GET /v1/lanes HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'badInput'],
  [
    'another Expect',
    'GET /v1/lanes HTTP/1.1\r\nHost: a\r\nExpect: a\r\nConnection: close\r\n\r\n',
    417,
    'expectation',
  ],
  ['no HTTP', 'hello\r\n\r\n', 400, 'badInput'],
  [
    'an invalid address',
    'GET /v1/campaigns/%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    400,
    'badInput',
  ],
  [
    'a long address',
    `GET /v1/campaigns/${'447700900123'.repeat(40)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    404,
    'notFound',
  ],
] as const)(
  'A request with %s gets a problem document with the headers of every response',
  async (_, bytes, status, code) => {
    const { line, headers, body } = await responseTo(bytes);
    expect(line).toMatch(new RegExp(`^HTTP/1\\.1 ${status} \\w`));
    expect(headers).toContain('content-type: application/problem+json');
    expect(headers).toMatch(/^x-request-id: [\w-]{36}$/m);
    expect(headers).toContain('x-content-type-options: nosniff');
    expect(headers).toContain('cache-control: no-store');
    expect(headers).toMatch(/^content-security-policy: .*frame-ancestors 'none'/m);
    expect(JSON.parse(body)).toMatchObject({ status, code });
    expect(body).not.toMatch(/447700900123|%zz/);
  },
);

test('A request that arrives while the process shuts down gets a problem document that asks to retry', async () => {
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const ending = await api(
    {},
    {
      also: (app) => void app.get('/slow', async () => answered.then(() => 'done')),
    },
  );
  const socket = client(ending.origin);
  const begun = once(ending.app.server, 'request');
  socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await begun;
  const closed = ending.app.close();
  const next = once(ending.app.server, 'request');
  socket.write(`GET /v1/lanes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await ending.key()}\r\n\r\n`);
  await next;
  answer();
  const [, second = ''] = (await text(socket)).split(/(?=HTTP\/1\.1 503)/);
  expect(second).toMatch(
    /^HTTP\/1\.1 503 .*^retry-after: 1\r$.*^content-type: application\/problem\+json/ims,
  );
  expect(JSON.parse(second.slice(second.indexOf('\r\n\r\n')))).toMatchObject({
    code: 'unavailable',
    detail: 'This process is shutting down. Send the request again.',
  });
  await closed;
});

test.each([
  ['POST', '/v1/results', 'GET, HEAD'],
  ['GET', '/v1/preview', 'POST'],
  ['OPTIONS', '/v1/campaigns', 'GET, HEAD, POST'],
  ['DELETE', '/v1/lanes/default/hold?force=1', 'POST'],
] as const)(
  'A method that an address does not support returns 405 with Allow: %s %s',
  async (method, path, allow) => {
    const { status, headers, json } = await call(method, path);
    const detail = `This address does not support ${method}. It supports ${allow}.`;
    expect([status, headers.get('allow'), json]).toMatchObject([
      405,
      allow,
      { code: 'methodNotAllowed', detail },
    ]);
  },
);

test('No method reveals a secret address', async () => {
  const { call: own } = await api({
    CALLBACK_URL: 'https://volley.example/sms/in',
    CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
  });
  for (const method of ['POST', 'PUT', 'GET']) {
    expect([method, (await own(method, '/callbacks/nowhere')).status]).toEqual([method, 404]);
  }
});

test('A request keeps the id that its client gave it, in the response and in the log', async () => {
  const { call: own, log } = await api(
    {},
    {
      also: (app) =>
        void app.get('/fails', () => {
          throw new Error('the reason');
        }),
    },
  );
  const headers = { 'x-request-id': 'order-1017/a' };
  const { status, headers: answered } = await own('GET', '/fails', { headers });
  expect([status, answered.get('x-request-id')]).toEqual([500, 'order-1017/a']);
  const lines = log.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toContainEqual(
    expect.objectContaining({ event: 'http.failed', route: '/fails', xRequestId: 'order-1017/a' }),
  );
  await expect
    .poll(() => log.map((line) => JSON.parse(line)))
    .toContainEqual(
      expect.objectContaining({ event: 'http.answered', status: '500', xRequestId: 'order-1017/a' }),
    );
  for (const invalid of ['a b', 'x'.repeat(129), '"']) {
    const renamed = await own('GET', '/healthz', { headers: { 'x-request-id': invalid } });
    expect(renamed.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
  }
});

test('A name with control characters is shown on one line', async () => {
  const { json } = await call('GET', '/v1/lanes?%0Aname%1b=a');
  expect(json).toMatchObject({ status: 400, detail: 'The parameter `⏎name·` is unknown.' });
});
