import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAccountClient } from '../../../src/service/client/accounts.js';
import { createSubscriptionClient } from '../../../src/service/client/subscriptions.js';
import { rawServer, reply } from '../raw-server.js';
import { clientOf, poll, send } from './messaging-client.js';

const MB = 1_000_000;
const LOCATED = 'Location: http://h/outbound/ACME/requests/r1';

/** Writes a body that never ends, as fast as the client reads it, and counts its bytes. */
function endless(head: string, chunk: Buffer) {
  const written = { bytes: 0 };
  const answer = (socket: Socket): void => {
    const more = (): void => {
      do written.bytes += chunk.length;
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', more);
    socket.write(`${head}\r\n\r\n`);
    more();
  };
  return { answer, written };
}

const unframed = (status: string, ...headers: string[]) =>
  endless([`HTTP/1.1 ${status}`, ...headers].join('\r\n'), Buffer.alloc(65_536, 'x'));

/** A body of so many MB, compressed to a thousandth of its size. */
function bomb(megabytes: number): (socket: Socket) => void {
  const body = gzipSync(Buffer.alloc(megabytes * MB, ' '));
  const head = `HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
  return (socket) => {
    socket.write(head);
    socket.write(body);
  };
}

describe('a response of more than 1 MB', () => {
  it.each([
    ['201 Created', 'unknown', []],
    ['201 Created', 'accepted', [LOCATED]],
    ['500 Internal Server Error', 'unknown', []],
    ['429 Too Many Requests', 'throttled', []],
    ['403 Forbidden', 'unknown', []],
  ])('with status %s is unreadable, and means for a send: %s', async (status, kind, headers) => {
    const { answer, written } = unframed(status, ...headers);
    const closed: Socket[] = [];
    const server = await rawServer(answer, (socket) => socket.on('close', () => closed.push(socket)));
    const outcome = await send(clientOf(server.origin));
    expect(outcome.kind).toBe(kind);
    await expect.poll(() => closed.length).toBe(1);
    // The sockets' buffers hold some more.
    expect(written.bytes).toBeLessThan(20 * MB);
  });

  it('is unreadable even if it is compressed to less', async () => {
    const server = await rawServer(bomb(100));
    const client = clientOf(server.origin);
    const before = process.memoryUsage().rss;
    expect(await send(client)).toMatchObject({ kind: 'unknown' });
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * MB);
  });

  it('leaves a poll unanswered, and the next request uses a new connection', async () => {
    const infos = reply(['HTTP/1.1 200 OK'], '{"deliveryInfoList":{"deliveryInfo":[]}}');
    const server = await rawServer([unframed('200 OK').answer, infos]);
    const client = clientOf(server.origin);
    expect(await poll(client)).toMatchObject({ kind: 'unanswered' });
    expect(await poll(client)).toMatchObject({ kind: 'infos' });
    expect(server.connections()).toBe(2);
  });

  it('counts as no answer to a login, a refresh, and a request about the subscription', async () => {
    const server = await rawServer(unframed('200 OK').answer);
    const settings = { baseUrl: server.origin, timeoutMs: 10_000 };
    const accounts = createAccountClient(settings);
    const subscriptions = createSubscriptionClient(settings);
    onTestFinished(() => {
      accounts.close();
      subscriptions.close();
    });
    expect(await accounts.login({ username: 'u', password: 'p' })).toMatchObject({ kind: 'noAnswer' });
    expect(await accounts.refresh('token')).toMatchObject({ kind: 'noAnswer' });
    expect(await subscriptions.get({ authorization: 'KEY-1' })).toMatchObject({ kind: 'unanswered' });
  });
});

it('A response of exactly 1 MB is read', async () => {
  const start = '{"outboundSMSMessageRequest":{"resourceURL":"http://h/outbound/ACME/requests/r1"}}';
  const server = await rawServer(reply(['HTTP/1.1 201 Created'], start.padEnd(MB)));
  const outcome = await send(clientOf(server.origin));
  expect(outcome).toMatchObject({ kind: 'accepted', requestId: 'r1' });
});

it('A body is read whatever the chunks in which it arrives, even if they split a character', async () => {
  const chunks = [...Buffer.from('ä € 😀')].map((byte) =>
    Buffer.concat([Buffer.from('1\r\n'), Buffer.of(byte), Buffer.from('\r\n')]),
  );
  const server = await rawServer((socket) => {
    socket.write('HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const chunk of chunks) socket.write(chunk);
    socket.write('0\r\n\r\n');
  });
  const outcome = await send(clientOf(server.origin));
  expect(outcome).toMatchObject({ kind: 'stopped', reason: expect.stringMatching(/ä € 😀$/) });
});
