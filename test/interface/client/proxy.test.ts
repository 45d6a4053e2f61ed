import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import { SELF_SIGNED } from '../certificate.js';
import { closedPort, PERMIT, reply } from '../raw-server.js';

const MESSAGE = { sender: 'ACME', recipients: ['+358401234567'], text: 'Hello' };
const CREATED = reply(['HTTP/1.1 201 Created', 'Location: http://h/outbound/ACME/requests/r1']);
const KEY = { authorization: 'KEY-1' };

/** A service with its own certificate, and what it has read. */
async function startService() {
  const read: string[] = [];
  const server = createTlsServer(SELF_SIGNED, (socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      read.push(String(chunk));
      socket.write(CREATED);
    });
  });
  server.on('tlsClientError', () => {});
  return { read, port: await listening(server) };
}

/** A proxy that answers CONNECT by hand, and then passes the bytes on. */
async function startProxy(answer: (socket: Socket) => Promise<string | null> | string | null) {
  const requests: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', async (head) => {
      requests.push(String(head));
      const text = await answer(socket);
      if (text === null) return;
      socket.write(text);
      if (!text.startsWith('HTTP/1.1 200')) return void socket.end();
      const [, host, port] = /^CONNECT ([^:]+):(\d+) /.exec(String(head)) ?? [];
      const service = connect(Number(port), host);
      service.on('error', () => socket.destroy());
      socket.on('close', () => service.destroy());
      socket.pipe(service).pipe(socket);
    });
  });
  return { requests, port: await listening(server) };
}

async function listening(server: ReturnType<typeof createServer>): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => open.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function clientOf(servicePort: number, proxyPort: number, timeoutMs = 5_000) {
  const client = createMessagingClient({
    baseUrl: `https://127.0.0.1:${servicePort}/v1`,
    timeoutMs,
    proxy: `http://ann:p%40ss@127.0.0.1:${proxyPort}`,
    ca: SELF_SIGNED.cert,
  });
  onTestFinished(() => client.close());
  return client;
}

const TUNNEL = 'HTTP/1.1 200 Connection established\r\n\r\n';

test('a request reaches a service with its own certificate through the tunnel of a proxy', async () => {
  const service = await startService();
  const proxy = await startProxy(() => TUNNEL);
  const outcome = await clientOf(service.port, proxy.port).send(MESSAGE, KEY, PERMIT);
  expect(outcome).toMatchObject({ kind: 'accepted', requestId: 'r1' });
  expect(proxy.requests[0]).toMatch(new RegExp(`^CONNECT 127\\.0\\.0\\.1:${service.port} HTTP/1\\.1\r\n`));
  expect(proxy.requests[0]?.toLowerCase()).toContain(
    `proxy-authorization: basic ${Buffer.from('ann:p@ss').toString('base64')}`.toLowerCase(),
  );
  expect(service.read.join('')).toContain('authorization: Bearer KEY-1');
  expect(service.read.join('').toLowerCase()).not.toContain('proxy-authorization');
});

test('a tunnel is used again like any other connection', async () => {
  const service = await startService();
  const proxy = await startProxy(() => TUNNEL);
  const client = clientOf(service.port, proxy.port);
  for (let before = -1; before !== proxy.requests.length; ) {
    before = proxy.requests.length;
    expect(await client.send(MESSAGE, KEY, PERMIT)).toMatchObject({ kind: 'accepted' });
  }
  expect(service.read.length).toBeGreaterThan(proxy.requests.length);
});

test.each([
  ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 'answers 407; check HTTPS_PROXY'],
  ['HTTP/1.1 502 Bad Gateway\r\n\r\n', 'answers 502; check HTTPS_PROXY'],
])('a request is not sent if the proxy answers %j', async (answer, reason) => {
  const service = await startService();
  const proxy = await startProxy(() => answer);
  const outcome = await clientOf(service.port, proxy.port).send(MESSAGE, KEY, PERMIT);
  expect(outcome).toMatchObject({ kind: 'notSent', reason: expect.stringContaining(reason) });
  expect(service.read).toEqual([]);
});

test('a request is not sent if the proxy cannot be reached', async () => {
  const service = await startService();
  const outcome = await clientOf(service.port, await closedPort()).send(MESSAGE, KEY, PERMIT);
  expect(outcome).toMatchObject({
    kind: 'notSent',
    reason: expect.stringContaining('the proxy cannot be reached'),
  });
});

test('a request is not sent if the proxy does not answer or resets the connection', async () => {
  const service = await startService();
  const silent = await startProxy(() => null);
  expect(await clientOf(service.port, silent.port, 300).send(MESSAGE, KEY, PERMIT)).toMatchObject({
    kind: 'notSent',
  });
  const resetting = await startProxy((socket) => {
    socket.resetAndDestroy();
    return null;
  });
  expect(await clientOf(service.port, resetting.port).send(MESSAGE, KEY, PERMIT)).toMatchObject({
    kind: 'notSent',
  });
  expect(service.read).toEqual([]);
});

test('a request is not sent if its permit expires while the tunnel or its TLS connection opens', async () => {
  const service = await startService();
  let isExpired = false;
  const permit = { isExpired: () => isExpired };
  const tunnel = await startProxy(() => {
    isExpired = true;
    return TUNNEL;
  });
  expect(await clientOf(service.port, tunnel.port).send(MESSAGE, KEY, permit)).toMatchObject({
    kind: 'notSent',
  });
  isExpired = false;
  const handshake = await startProxy((socket) => {
    // The first bytes in the tunnel are those of the handshake.
    socket.once('data', () => {
      isExpired = true;
    });
    return TUNNEL;
  });
  expect(await clientOf(service.port, handshake.port).send(MESSAGE, KEY, permit)).toMatchObject({
    kind: 'notSent',
  });
  expect(service.read).toEqual([]);
});

test('a service whose certificate is not among the trusted ones is not trusted through a tunnel either', async () => {
  const service = await startService();
  const proxy = await startProxy(() => TUNNEL);
  const client = createMessagingClient({
    baseUrl: `https://127.0.0.1:${service.port}/v1`,
    timeoutMs: 5_000,
    proxy: `http://127.0.0.1:${proxy.port}`,
  });
  onTestFinished(() => client.close());
  expect(await client.send(MESSAGE, KEY, PERMIT)).toMatchObject({
    kind: 'notSent',
    reason: expect.stringContaining('certificate of 127.0.0.1 is self-signed'),
  });
  expect(service.read).toEqual([]);
});
