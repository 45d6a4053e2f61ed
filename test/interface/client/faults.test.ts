import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import tls, { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startStopwatch, uptimeClock } from '../../../src/base/clock.js';
import type { MessagingClient } from '../../../src/service/client/messaging.js';
import { EXPIRED, SELF_SIGNED } from '../certificate.js';
import { closedPort, PERMIT, rawServer, reply } from '../raw-server.js';
import { CREATED, clientOf, MESSAGE, poll, send } from './messaging-client.js';

const reset = (socket: Socket) => socket.resetAndDestroy();
const hang = () => {};
/** Long enough for a busy process to write a request, which it does not after this time. */
const SHORT_MS = 2_000;

/** Sends until a request uses the connection of an earlier one, which is idle afterwards. In a busy process, some are late and not sent. */
async function untilReused(client: MessagingClient, server: { connections: () => number }): Promise<void> {
  for (let [before, kind] = [-1, '']; kind !== 'accepted' || before !== server.connections(); ) {
    before = server.connections();
    ({ kind } = await send(client));
  }
}

/** A raw server over TLS, by default with an untrusted certificate; null in place of an answer resets the connection. */
async function tlsServer(
  answer: () => string | null,
  certificate = SELF_SIGNED,
): Promise<{ origin: string; read: () => string; connections: () => number }> {
  let read = '';
  let connections = 0;
  const open = new Set<Socket>();
  const server = createTlsServer(certificate, (socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      read += chunk;
      const text = answer();
      if (text !== null) socket.write(text);
      else for (const tcp of open) tcp.resetAndDestroy();
    });
  });
  server.on('connection', (tcp: Socket) => {
    connections += 1;
    open.add(tcp);
    tcp.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const tcp of open) tcp.destroy();
    server.close();
  });
  return {
    origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    read: () => read,
    connections: () => connections,
  };
}

/** Blocks this process for so long after it has begun to connect and before it learns that it is connected. */
function stopWhileConnecting(ms: number): void {
  const stop = (): void => {
    unsubscribe('net.client.socket', stop);
    // Node emits the request's `socket` event in the first tick; a stop before that would never reach the check on connecting.
    process.nextTick(() => process.nextTick(() => block(ms)));
  };
  subscribe('net.client.socket', stop);
}

const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe('a request that certainly did not leave', () => {
  it('is not written if the process was stopped while connecting', async () => {
    const server = await rawServer([CREATED]);
    const client = clientOf(server.origin, { timeoutMs: SHORT_MS });
    stopWhileConnecting(SHORT_MS + 200);
    expect(await send(client)).toMatchObject({ kind: 'notSent' });
    // A second request over a new connection has arrived, so anything written before would have arrived too.
    const again = clientOf(server.origin);
    expect(await send(again)).toMatchObject({ kind: 'accepted' });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['before it had a connection', false],
    ['before it reused an open connection', true],
  ])('is not written if the process was stopped %s', async (_, reuses) => {
    const server = await rawServer([CREATED]);
    const client = clientOf(server.origin, { timeoutMs: 200 });
    if (reuses) await untilReused(client, server);
    const before = server.requests.length;
    const sending = send(client);
    block(400);
    expect(await sending).toMatchObject({ kind: 'notSent' });
    expect(await send(clientOf(server.origin))).toMatchObject({ kind: 'accepted' });
    expect(server.requests).toHaveLength(before + 1);
  });

  it('is not written if its deadline passed before it started', async () => {
    const server = await rawServer([CREATED]);
    const client = clientOf(server.origin);
    const late = { isExpired: () => true };
    expect(await client.send(MESSAGE, { authorization: 'KEY-1' }, late)).toMatchObject({ kind: 'notSent' });
    expect(await client.deliveryInfos('ACME', 'r1', { authorization: 'KEY-1' }, late)).toMatchObject({
      kind: 'notSent',
    });
    expect(await client.send(MESSAGE, { authorization: 'KEY-1' }, PERMIT)).toMatchObject({
      kind: 'accepted',
    });
    expect(server.requests).toHaveLength(1);
  });

  it('is not written if the machine was suspended meanwhile, even if only the uptime shows it', async () => {
    const server = await rawServer([CREATED]);
    const still = (): number => 0;
    let upSeconds = 100;
    const clocks = { clock: still, monotonic: still, ...uptimeClock(() => upSeconds, still) };
    const age = startStopwatch(clocks);
    const client = clientOf(server.origin, { timeoutMs: 30_000, clocks });
    const sending = client.send(MESSAGE, { authorization: 'KEY-1' }, { isExpired: () => age() > 10_000 });
    upSeconds += 20;
    expect(await sending).toMatchObject({ kind: 'notSent' });
    expect(server.requests).toHaveLength(0);
  });

  it('is not sent if the connection is refused', async () => {
    const client = clientOf(`http://127.0.0.1:${await closedPort()}`);
    const reason = expect.stringMatching(/^127\.0\.0\.1:\d+ refuses connections \(ECONNREFUSED\)$/);
    expect(await send(client)).toEqual({ kind: 'notSent', reason });
    expect(await poll(client)).toMatchObject({ kind: 'notSent' });
  });

  it('is not sent if the host cannot be resolved', async () => {
    const outcome = await send(clientOf('http://messaging.invalid'));
    const reason = expect.stringMatching(
      /^cannot resolve host messaging\.invalid.*\((ENOTFOUND|EAI_AGAIN)\)$/,
    );
    expect(outcome).toEqual({ kind: 'notSent', reason });
  });

  it('is not sent if the certificate is untrusted, and the service receives no byte', async () => {
    const server = await tlsServer(() => CREATED);
    const outcome = await send(clientOf(server.origin));
    expect(outcome).toEqual({
      kind: 'notSent',
      reason: 'the certificate of 127.0.0.1 is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)',
    });
    expect(server.read()).toBe('');
  });

  it('is not sent if the certificate has expired, and the reason names the date', async () => {
    const server = await tlsServer(() => CREATED, EXPIRED);
    const { connect } = tls;
    // Trusts the certificate's issuer, so that only the date is wrong.
    vi.spyOn(tls, 'connect').mockImplementation((...[options]: unknown[]) =>
      connect({ ...Object(options), ca: EXPIRED.cert }),
    );
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await send(clientOf(server.origin))).toEqual({
      kind: 'notSent',
      reason: 'the certificate of 127.0.0.1 expired on 2020-01-02 (CERT_HAS_EXPIRED)',
    });
    expect(server.read()).toBe('');
  });

  it('is not sent if the TLS handshake never ends', async () => {
    const server = await rawServer(hang);
    const outcome = await send(clientOf(server.origin.replace('http:', 'https:'), { timeoutMs: 300 }));
    expect(outcome).toEqual({ kind: 'notSent', reason: 'the request timed out before it was sent' });
    expect(server.requests).toEqual([]);
  });

  it('is not sent if the service does not speak TLS', async () => {
    const server = await rawServer(hang, (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const outcome = await send(clientOf(server.origin.replace('http:', 'https:')));
    expect(outcome.kind).toBe('notSent');
  });

  it('is not sent if it was cancelled before it started, and opens no connection', async () => {
    const server = await rawServer(CREATED);
    const outcome = await send(clientOf(server.origin), AbortSignal.abort());
    expect(outcome.kind).toBe('notSent');
    expect(server.connections()).toBe(0);
  });

  it('is not sent if it was cancelled in the same tick', async () => {
    const server = await rawServer(CREATED);
    const controller = new AbortController();
    const pending = send(clientOf(server.origin), controller.signal);
    controller.abort();
    expect((await pending).kind).toBe('notSent');
    expect(server.requests).toHaveLength(0);
  });

  it('stops the lane if the key cannot be a header value, without repeating the key', async () => {
    const server = await rawServer(CREATED);
    const outcome = await clientOf(server.origin).send(MESSAGE, { authorization: 'SECRET\r\nX: 1' }, PERMIT);
    expect(outcome.kind).toBe('stopped');
    expect(JSON.stringify(outcome)).not.toContain('SECRET');
    expect(server.connections()).toBe(0);
  });
});

describe('a request that may have left', () => {
  it('is unknown after a reset once the service has read it', async () => {
    const server = await rawServer(reset);
    const client = clientOf(server.origin);
    expect(await send(client)).toEqual({ kind: 'unknown', reason: expect.stringContaining('ECONNRESET') });
    expect(server.requests).toHaveLength(1);
  });

  it('is unknown after a reset of a connection that the service never read', async () => {
    const server = await rawServer(hang, (socket) => {
      socket.pause();
      setTimeout(reset, 100, socket);
    });
    expect((await send(clientOf(server.origin))).kind).toBe('unknown');
    expect(server.requests).toHaveLength(0);
  });

  it('is unknown if only part of it could be written', async () => {
    const server = await rawServer(hang, (socket) => void socket.pause());
    // Long enough for a busy machine to write the first part.
    const client = clientOf(server.origin, { timeoutMs: 3_000 });
    const outcome = await client.send(
      { ...MESSAGE, text: 'x'.repeat(20_000_000) },
      { authorization: 'KEY-1' },
      PERMIT,
    );
    expect(outcome.kind).toBe('unknown');
  });

  it('is unknown if the connection was closed without a response', async () => {
    const server = await rawServer((socket) => socket.end());
    expect((await send(clientOf(server.origin))).kind).toBe('unknown');
    expect(server.requests).toHaveLength(1);
  });

  it('is unknown after a reset of a reused connection', async () => {
    let answer = (socket: Socket): void => void socket.write(CREATED);
    const server = await rawServer((socket) => answer(socket));
    const client = clientOf(server.origin);
    await untilReused(client, server);
    const [connections, requests] = [server.connections(), server.requests.length];
    answer = reset;
    expect((await send(client)).kind).toBe('unknown');
    expect(server.connections()).toBe(connections);
    expect(server.requests).toHaveLength(requests + 1);
  });

  it('is unknown if a kept-alive connection is reset while the request is being written', async () => {
    const sockets: Socket[] = [];
    const server = await rawServer(CREATED, (socket) => void sockets.push(socket));
    const client = clientOf(server.origin);
    await untilReused(client, server);
    const requests = server.requests.length;
    for (const socket of sockets) socket.resetAndDestroy();
    const outcome = await send(client);
    expect(outcome.kind).toBe('unknown');
    expect(server.requests).toHaveLength(requests);
  });

  it('is unknown after a reset over TLS, of a new or a reused connection', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const fresh = await tlsServer(() => null);
    expect((await send(clientOf(fresh.origin))).kind).toBe('unknown');
    let answer: string | null = CREATED;
    const kept = await tlsServer(() => answer);
    const client = clientOf(kept.origin);
    await untilReused(client, kept);
    const before = kept.connections();
    answer = null;
    expect((await send(client)).kind).toBe('unknown');
    expect(kept.connections()).toBe(before);
  });

  it('is unknown if there is no response in time', async () => {
    const server = await rawServer(hang);
    const outcome = await send(clientOf(server.origin, { timeoutMs: SHORT_MS }));
    expect(outcome).toEqual({ kind: 'unknown', reason: expect.stringContaining('time') });
    expect(server.requests).toHaveLength(1);
  });

  it('is unknown if the response is not HTTP', async () => {
    const server = await rawServer('220 smtp ready\r\n');
    expect((await send(clientOf(server.origin))).kind).toBe('unknown');
  });

  it('is unknown if it was cancelled after the service had read it', async () => {
    const controller = new AbortController();
    const server = await rawServer(() => controller.abort());
    expect((await send(clientOf(server.origin), controller.signal)).kind).toBe('unknown');
    expect(server.requests).toHaveLength(1);
  });

  it('stops listening to its signal when it is done', async () => {
    const server = await rawServer(CREATED);
    const client = clientOf(server.origin);
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      removeEventListener.apply(signal, args);
    };
    await send(client, signal);
    await expect.poll(() => listeners).toBe(0);
  });
});

describe('a request that fails', () => {
  const busy = (status: string) => reply([`HTTP/1.1 ${status}`, 'Retry-After: 0']);
  const faults = {
    'a reset': reset,
    'a closed connection': (socket: Socket) => void socket.end(),
    silence: hang,
    'a reply that breaks off': (socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{', () => reset(socket));
    },
    408: busy('408 Request Timeout'),
    413: busy('413 Content Too Large'),
    429: busy('429 Too Many Requests'),
    500: busy('500 Internal Server Error'),
    502: busy('502 Bad Gateway'),
    503: busy('503 Service Unavailable'),
    504: busy('504 Gateway Timeout'),
  };

  it('is never put on the wire a second time', async () => {
    const servers = await Promise.all(
      Object.entries(faults).map(async ([fault, answer]) => {
        const server = await rawServer(answer);
        const client = clientOf(server.origin, { timeoutMs: SHORT_MS });
        await Promise.all([send(client), poll(client)]);
        return { fault, server };
      }),
    );
    // got's own first retry would come within 1.1 s.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const lines = servers.map(({ fault, server }) => ({
      fault,
      methods: server.requests.map((request) => request.split(' ')[0]).sort(),
    }));
    expect(lines).toEqual(Object.keys(faults).map((fault) => ({ fault, methods: ['GET', 'POST'] })));
  });
});
