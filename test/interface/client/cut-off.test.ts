import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { rawServer, reply } from '../raw-server.js';
import { CREATED, clientOf, poll, send } from './messaging-client.js';

const INFOS = reply(['HTTP/1.1 200 OK'], '{"deliveryInfoList":{"deliveryInfo":[]}}');

const reset = (socket: Socket) => socket.resetAndDestroy();
const hang = () => {};
/** Long enough for a busy process to write a request, which it does not after this time. */
const SHORT_MS = 2_000;

describe('timeouts and connections', () => {
  it('reads a response that arrived in time while the process was busy', async () => {
    const server = await rawServer((socket) => {
      socket.write(CREATED);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SHORT_MS + 200);
    });
    expect((await send(clientOf(server.origin, { timeoutMs: SHORT_MS }))).kind).toBe('accepted');
  });

  it('waits for a slow response longer than it keeps an idle connection', async () => {
    const server = await rawServer((socket) => void setTimeout(() => socket.write(CREATED), 3500));
    expect((await send(clientOf(server.origin, { timeoutMs: 10_000 }))).kind).toBe('accepted');
  });

  it('finishes a request in flight when it is closed', async () => {
    const late: Socket[] = [];
    const server = await rawServer((socket) => void late.push(socket));
    const client = clientOf(server.origin);
    const pending = send(client);
    await expect.poll(() => late.length).toBe(1);
    client.close();
    late[0]?.write(CREATED);
    expect((await pending).kind).toBe('accepted');
  });
});

describe('a response that breaks off', () => {
  const cut = (head: string) => (socket: Socket) => {
    socket.write(`HTTP/1.1 ${head}\r\nContent-Length: 500\r\n\r\n{"outboundSMS`, () => reset(socket));
  };

  it.each([
    ['200 OK', 'unknown'],
    ['201 Created', 'unknown'],
    ['500 Internal Server Error', 'unknown'],
    ['201 Created\r\nLocation: http://h/outbound/ACME/requests/r1', 'accepted'],
    ['429 Too Many Requests', 'throttled'],
    ['401 Unauthorized', 'unauthorised'],
    ['400 Bad Request', 'unknown'],
    ['403 Forbidden', 'unknown'],
  ])('with the head %j means for a send: %s', async (head, kind) => {
    const server = await rawServer(cut(head));
    expect((await send(clientOf(server.origin))).kind).toBe(kind);
    expect(server.requests).toHaveLength(1);
  });

  it('leaves a poll unanswered, and the next poll may succeed', async () => {
    const server = await rawServer([cut('200 OK'), INFOS]);
    const client = clientOf(server.origin);
    expect((await poll(client)).kind).toBe('unanswered');
    expect((await poll(client)).kind).toBe('infos');
  });

  it('leaves the outcome unknown if the body stalls until the timeout', async () => {
    const server = await rawServer('HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{"outbound');
    expect((await send(clientOf(server.origin, { timeoutMs: SHORT_MS }))).kind).toBe('unknown');
  });

  it('leaves the outcome unknown if a chunked body is incomplete', async () => {
    const server = await rawServer((socket) => {
      socket.end('HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"out\r\n');
    });
    expect((await send(clientOf(server.origin))).kind).toBe('unknown');
  });

  it('leaves the outcome unknown if a compressed body cannot be decompressed', async () => {
    const server = await rawServer(reply(['HTTP/1.1 201 Created', 'Content-Encoding: gzip'], 'no gzip'));
    expect((await send(clientOf(server.origin))).kind).toBe('unknown');
  });
});

describe('polls during faults', () => {
  it.each([
    ['a reset', reset],
    ['a closed connection', (socket: Socket) => void socket.end()],
    ['silence', hang],
  ])('are unanswered after %s', async (_what, answer) => {
    const server = await rawServer(answer);
    expect((await poll(clientOf(server.origin, { timeoutMs: SHORT_MS }))).kind).toBe('unanswered');
    expect(server.requests).toHaveLength(1);
  });
});
