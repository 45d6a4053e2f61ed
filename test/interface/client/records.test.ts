import { describe, expect, onTestFinished, test } from 'vitest';
import { systemMachine } from '../../../src/base/clock.js';
import { createRecordsClient } from '../../../src/call-records/contract/client.js';
import { parameterValues } from '../../../src/call-records/contract/input.js';
import { at, CONTRACT, contractOf, WITH_ADDRESS } from '../../call-records/contract/contract.js';
import { closedPort, rawServer } from '../raw-server.js';

const CREDENTIALS = { apiKey: 'secret-key' };
const INPUT = {
  from: '2026-01-02',
  to: '2026-01-31',
  parameters: { product: 'voice', format: 'csv', number: '+32 "2"' },
};
const route = () => ({ proxy: undefined, ca: undefined, timeoutMs: 500 });
const now = { isLate: () => false };

const reply = (body: string, status = '200 OK', ...headers: string[]): string =>
  [`HTTP/1.1 ${status}`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers, '', body].join('\r\n');

function clientFor(value: typeof CONTRACT | typeof WITH_ADDRESS) {
  const contract = contractOf(value);
  const client = createRecordsClient(contract, { machine: systemMachine, route });
  onTestFinished(() => client.close());
  const values = { ...parameterValues(INPUT, contract), id: 'a/b 1' };
  return {
    request: () => client.request(values, CREDENTIALS)(now),
    status: () => client.status(values, CREDENTIALS)(now),
    async download(address: string | null = null) {
      const opened = await client.download(values, address, CREDENTIALS)(now);
      if (opened.kind !== 'file') return opened;
      const chunks: Buffer[] = [];
      for await (const chunk of opened.body) chunks.push(chunk);
      return { ...opened, body: Buffer.concat(chunks).toString('latin1') };
    },
  };
}

describe('A request for records', () => {
  test('is exactly what the contract says', async () => {
    const server = await rawServer(reply('{"report":{"id":"7"}}'));
    const { request } = clientFor(at(CONTRACT, server.origin));
    expect(await request()).toEqual({ kind: 'accepted', serviceId: '7' });
    const [sent = ''] = server.requests;
    const [head = '', body] = sent.split('\r\n\r\n');
    const [line, ...headers] = head.split('\r\n');
    expect(line).toBe('POST /cdr/reports/voice HTTP/1.1');
    expect(headers.map((header) => header.toLowerCase()).sort()).toEqual([
      'accept-encoding: identity',
      'authorization: bearer secret-key',
      'connection: keep-alive',
      'content-length: 61',
      'content-type: application/json',
      `host: 127.0.0.1:${server.port}`,
      'user-agent: volley',
    ]);
    expect(body).toBe('{"first":"2026-01-02","last":"20260131","number":"+32 \\"2\\""}');
  });

  test.each([
    ['200 OK', '{"report":{"id":9007199254740993}}', { kind: 'accepted', serviceId: '9007199254740993' }],
    ['201 Created', '{"report":{"id":"a b"}}', { kind: 'accepted', serviceId: 'a b' }],
    ['200 OK', '{"report":{"id":""}}', { kind: 'unknown', reason: expect.stringContaining('/report/id') }],
    ['200 OK', '{"report":', { kind: 'unknown', reason: expect.stringContaining('/report/id') }],
    ['200 OK', '{"id":1}', { kind: 'unknown', reason: expect.stringContaining('/report/id') }],
    ['200 OK', `{"a":"${'x'.repeat(20_000)}"}`, { kind: 'unknown', reason: expect.any(String) }],
    [
      '302 Found',
      '',
      { kind: 'refused', reason: expect.stringContaining('redirect, which is not followed') },
    ],
    ['400 Bad Request', '{"code":"E088"}', { kind: 'refused', reason: expect.stringContaining('E088') }],
    ['401 Unauthorized', '', { kind: 'unauthorised', reason: 'The service answered 401' }],
    ['403 Forbidden', '', { kind: 'refused', reason: 'The service answered 403' }],
    ['408 Request Timeout', '', { kind: 'unknown', reason: 'The service answered 408' }],
    [
      '429 Too Many Requests',
      '',
      { kind: 'notAccepted', reason: 'The service answered 429', retryAfterMs: 7_000 },
    ],
    ['500 Internal Server Error', '', { kind: 'unknown', reason: 'The service answered 500' }],
    ['503 Service Unavailable', '', { kind: 'unknown', reason: 'The service answered 503' }],
  ])('answered with %s %.40s', async (status, body, expected) => {
    const server = await rawServer(reply(body, status, 'Retry-After: 7', 'Location: /elsewhere'));
    expect(await clientFor(at(CONTRACT, server.origin)).request()).toEqual(expected);
    expect(server.requests).toHaveLength(1);
  });

  test('that gets no response may have been accepted; one that never left has not', async () => {
    const reset = await rawServer((socket) => socket.resetAndDestroy());
    expect(await clientFor(at(CONTRACT, reset.origin)).request()).toMatchObject({ kind: 'unknown' });
    const silent = await rawServer(() => {});
    expect(await clientFor(at(CONTRACT, silent.origin)).request()).toMatchObject({
      kind: 'unknown',
      reason: 'no response within the request timeout; the service may have accepted the request',
    });
    const closed = await clientFor(at(CONTRACT, `http://127.0.0.1:${await closedPort()}`)).request();
    expect(closed).toMatchObject({
      kind: 'notAccepted',
      reason: expect.stringContaining('refuses connections'),
    });
  });

  test('does not leave when it is late', async () => {
    const server = await rawServer(reply('{"report":{"id":"7"}}'));
    const contract = contractOf(at(CONTRACT, server.origin));
    const client = createRecordsClient(contract, { machine: systemMachine, route });
    onTestFinished(() => client.close());
    const post = client.request(parameterValues(INPUT, contract), CREDENTIALS);
    expect(await post({ isLate: () => true })).toMatchObject({ kind: 'notAccepted' });
    expect(server.received()).toBe('');
  });
});

describe('A status request', () => {
  test.each([
    [
      '200 OK',
      '{"report":{"state":"running"}}',
      { kind: 'word', word: 'running', meaning: 'pending', address: null },
    ],
    [
      '200 OK',
      '{"report":{"state":"done"}}',
      { kind: 'word', word: 'done', meaning: 'ready', address: null },
    ],
    [
      '200 OK',
      '{"report":{"state":"error"}}',
      { kind: 'word', word: 'error', meaning: 'failed', address: null },
    ],
    [
      '200 OK',
      '{"report":{"state":"gone"}}',
      { kind: 'word', word: 'gone', meaning: 'expired', address: null },
    ],
    [
      '200 OK',
      '{"report":{"state":"nothing"}}',
      { kind: 'word', word: 'nothing', meaning: 'empty', address: null },
    ],
    [
      '200 OK',
      '{"report":{"state":"Done"}}',
      { kind: 'word', word: 'Done', meaning: 'unlisted', address: null },
    ],
    ['200 OK', '{}', { kind: 'later', reason: expect.stringContaining('/report/state'), retryAfterMs: null }],
    ['401 Unauthorized', '', { kind: 'unauthorised', reason: 'The service answered 401' }],
    ['403 Forbidden', '', { kind: 'stopped', reason: 'The service answered 403' }],
    ['404 Not Found', '', { kind: 'later', reason: 'The service answered 404', retryAfterMs: null }],
    ['301 Moved', '', { kind: 'stopped', reason: expect.stringContaining('redirect') }],
    ['503 Unavailable', '', { kind: 'later', reason: 'The service answered 503', retryAfterMs: null }],
  ])('answered with %s %s', async (status, body, expected) => {
    const server = await rawServer(reply(body, status, 'Location: /elsewhere'));
    expect(await clientFor(at(CONTRACT, server.origin)).status()).toEqual(expected);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]).toMatch(/^GET \/cdr\/reports\/a%2Fb%201 HTTP\/1\.1\r\n/);
  });

  test('finds the download address', async () => {
    const server = await rawServer(reply('{"report":{"state":"done","file/url":"/f?s=1"}}'));
    expect(await clientFor(at(WITH_ADDRESS, server.origin)).status()).toMatchObject({ address: '/f?s=1' });
  });
});

describe('A download', () => {
  const FILE = 'a;b\r\n\u0000\u00ff1;2\r\n';
  const binary = Buffer.from(FILE, 'latin1');
  const file = (...headers: string[]): string =>
    ['HTTP/1.1 200 OK', 'Content-Type: text/csv; charset=utf-8', ...headers, '', ''].join('\r\n');

  test('is unchanged, byte for byte', async () => {
    const server = await rawServer((socket) => {
      socket.write(file(`Content-Length: ${binary.length}`));
      socket.write(binary);
    });
    expect(await clientFor(at(CONTRACT, server.origin)).download()).toEqual({
      kind: 'file',
      contentType: 'text/csv; charset=utf-8',
      length: binary.length,
      body: FILE,
    });
    expect(server.requests[0]).toMatch(/^GET \/cdr\/reports\/a%2Fb%201\/file\.csv HTTP\/1\.1\r\n/);
    expect(server.requests[0]?.toLowerCase()).toContain('authorization: bearer secret-key');
  });

  test.each([
    ['a connection that breaks', `Content-Length: 100`, 'the download broke off before the end of the file'],
    [
      'chunks without an end',
      'Transfer-Encoding: chunked',
      'the download broke off before the end of the file',
    ],
  ])('fails with %s', async (_, header, message) => {
    const server = await rawServer((socket) => {
      socket.write(file(header));
      socket.write(header.startsWith('T') ? '4\r\nabcd\r\n' : 'abcd');
      socket.end();
    });
    await expect(clientFor(at(CONTRACT, server.origin)).download()).rejects.toMatchObject({
      message: expect.stringContaining(message),
      mayRepeat: true,
    });
  });

  test('fails when the service falls silent within the file', async () => {
    const server = await rawServer((socket) => void socket.write(`${file('Content-Length: 100')}abcd`));
    const quick = { ...CONTRACT, timeouts: { ...CONTRACT.timeouts, silence: '500ms' } };
    await expect(clientFor(at(quick, server.origin)).download()).rejects.toThrow('did not arrive in time');
  });

  test('fails when the file is longer than the contract allows, stated or not', async () => {
    const small = { ...CONTRACT, maxBytes: { ...CONTRACT.maxBytes, download: 10 } };
    const stated = await rawServer((socket) => void socket.write(`${file('Content-Length: 11')}abcdefghijk`));
    expect(await clientFor(at(small, stated.origin)).download()).toEqual({
      kind: 'stopped',
      reason: 'the file has 11 bytes; the contract allows 10',
    });
    const unstated = await rawServer(
      (socket) => void socket.write(`${file('Transfer-Encoding: chunked')}b\r\nabcdefghijk\r\n`),
    );
    await expect(clientFor(at(small, unstated.origin)).download()).rejects.toMatchObject({
      message: 'the file is longer than the contract allows',
      mayRepeat: false,
    });
  });

  test.each([
    ['404 Not Found', 'later'],
    ['410 Gone', 'later'],
    ['403 Forbidden', 'stopped'],
    ['307 Temporary Redirect', 'stopped'],
    ['401 Unauthorized', 'unauthorised'],
    ['500 Internal Server Error', 'later'],
    ['204 No Content', 'stopped'],
  ])('answered with %s is no file', async (status, kind) => {
    const other = await rawServer(reply('stolen'));
    const server = await rawServer(reply('', status, `Location: ${other.origin}/`));
    expect(await clientFor(at(CONTRACT, server.origin)).download()).toMatchObject({ kind });
    expect(server.requests).toHaveLength(1);
    expect(other.connections()).toBe(0);
  });

  test('stays on the origin of the contract unless another one is listed', async () => {
    const other = await rawServer(reply('stolen'));
    const server = await rawServer(reply('own'));
    const own = at(WITH_ADDRESS, server.origin);
    for (const address of [
      `${other.origin}/f`,
      `http://127.0.0.1:1/`,
      'file:///etc/passwd',
      '//elsewhere/',
      `http://a:b@127.0.0.1:${server.port}/`,
    ]) {
      expect(await clientFor(own).download(address)).toMatchObject({
        kind: 'stopped',
        reason: expect.stringContaining('downloadOrigins does not list'),
      });
    }
    expect(other.connections()).toBe(0);
    expect(await clientFor(own).download('/files/1')).toMatchObject({ body: 'own' });
    expect(server.requests[0]?.toLowerCase()).toContain('authorization: bearer secret-key');
  });

  test('carries no credentials and no header of the contract to another origin', async () => {
    const other = await rawServer(reply('elsewhere'));
    const server = await rawServer(reply('own'));
    const listed = { ...at(WITH_ADDRESS, server.origin), downloadOrigins: [other.origin] };
    const both = {
      ...listed,
      download: { ...listed.download, headers: { ...listed.download.headers, 'X-Literal': 'k' } },
    };
    expect(await clientFor(both).download(`${other.origin}/f?signature=1`)).toMatchObject({
      body: 'elsewhere',
    });
    const [sent = ''] = other.requests;
    expect(sent).toMatch(/^GET \/f\?signature=1 HTTP\/1\.1\r\n/);
    expect(sent.toLowerCase()).not.toMatch(/authorization|x-literal|secret-key/);
  });
});

describe('A private address that the contract does not list', () => {
  test.each(['127.0.0.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', 'localhost', '0.0.0.0', '[::1]'])(
    'is refused when connecting: %s',
    async (host) => {
      const server = await rawServer(reply('{"report":{"id":"7"}}'));
      const closed = { ...CONTRACT, privateAddresses: [] };
      const { request, status, download } = clientFor(at(closed, `http://${host}:${server.port}`));
      expect(await request()).toMatchObject({
        kind: 'refused',
        reason: expect.stringContaining('private address'),
      });
      expect(await status()).toMatchObject({
        kind: 'stopped',
        reason: expect.stringContaining('privateAddresses'),
      });
      expect(await download()).toMatchObject({
        kind: 'stopped',
        reason: expect.stringContaining('privateAddresses'),
      });
      expect(server.connections()).toBe(0);
    },
  );

  test('is refused for a download address on a listed origin', async () => {
    const server = await rawServer(reply('own'));
    const local = {
      ...at(WITH_ADDRESS, 'http://192.0.2.1'),
      privateAddresses: [],
      downloadOrigins: [server.origin],
    };
    expect(await clientFor(local).download(`${server.origin}/f`)).toMatchObject({ kind: 'stopped' });
    expect(server.connections()).toBe(0);
  });

  test('is connected to if a range contains it', async () => {
    const server = await rawServer(reply('{"report":{"id":"7"}}'));
    const range = { ...CONTRACT, privateAddresses: ['127.0.0.0/8'] };
    expect(await clientFor(at(range, server.origin)).request()).toMatchObject({ kind: 'accepted' });
  });
});
