import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { followStream, type StreamItem } from '../../../src/surfaces/console/base/live-stream.js';

/*
 * The live stream of the console against a server that breaks connections.
 */

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

type Handler = (response: ServerResponse, after: string | undefined, attempt: number) => unknown;

/** Serves streams, and follows them. `until` resolves when the page has reached a state of the test. */
async function follow(handler: Handler, silenceMs = 5_000) {
  const server = createServer((request, response) => {
    attempts.push(request.headers['last-event-id']?.toString());
    handler(response, attempts.at(-1), attempts.length);
  });
  const attempts: (string | undefined)[] = [];
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const controller = new AbortController();
  const items: StreamItem[] = [];
  const states: string[] = [];
  const waiting: { is: () => boolean; resolve: () => void }[] = [];
  const settle = (): void => {
    for (const { is, resolve } of waiting) if (is()) resolve();
  };
  ends.push(() => {
    controller.abort();
    server.closeAllConnections();
    server.close();
  });
  const done = followStream({
    url: `http://127.0.0.1:${port}/`,
    after: undefined,
    fetch,
    signal: controller.signal,
    silenceMs,
    retryMs: [10],
    onItem(item) {
      items.push(item);
      settle();
    },
    onState(state) {
      states.push(state);
      settle();
    },
  });
  const until = (is: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      waiting.push({ is, resolve });
      settle();
    });
  return { items, states, attempts, done, until, controller };
}

const open = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
};
const send = (response: ServerResponse, id: number): void => {
  response.write(`id: ${id}\nevent: campaign.paused\ndata: {"n":${id}}\n\n`);
};

test('A stream that breaks continues after the last event, so that none is missing or repeated', async () => {
  const { items, attempts, states, until } = await follow((response, after) => {
    open(response);
    const from = Number(after ?? 0);
    for (let id = from + 1; id <= Math.min(from + 3, 9); id++) send(response, id);
    // The connection breaks in the middle of an event.
    if (from < 6) response.write('id: 99\nevent: campaign.paused\ndata: {"n":', () => response.destroy());
  });
  await until(() => items.length >= 9);
  expect(items.map(({ id }) => Number(id))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(attempts).toEqual([undefined, '3', '6']);
  expect(states.slice(0, 4)).toEqual(['connecting', 'live', 'reconnecting', 'live']);
});

test('A stream that breaks before its first event continues where it began', async () => {
  const { attempts, items, until } = await follow((response, after) => {
    open(response);
    if (after !== undefined) return send(response, 8);
    return response.write('retry: 2000\nid: 7\n\n', () => response.destroy());
  });
  await until(() => items.length > 0);
  expect(attempts).toEqual([undefined, '7']);
});

test('An event that arrives in pieces arrives once', async () => {
  const { items, until } = await follow(async (response) => {
    open(response);
    const text = Buffer.from('id: 1\nevent: lane.held\ndata: {"reason":"gehalten für später"}\n\n');
    for (const byte of text) {
      response.write(Uint8Array.of(byte));
      await setImmediate();
    }
  });
  await until(() => items.length > 0);
  expect(items).toEqual([{ type: 'lane.held', data: { reason: 'gehalten für später' }, id: '1' }]);
});

test('A session that has ended signs out, and is not tried again', async () => {
  const { states, attempts, done } = await follow((response) => response.writeHead(401).end());
  await done;
  expect(states).toEqual(['connecting', 'signedOut']);
  expect(attempts).toHaveLength(1);
});

test('A key that may not follow is not tried again', async () => {
  const { states, done } = await follow((response) => response.writeHead(403).end());
  await done;
  expect(states).toEqual(['connecting', 'refused']);
});

test('A server that is unavailable is tried until it responds', async () => {
  const { items, states, until } = await follow((response, _after, attempt) => {
    if (attempt < 4) return response.writeHead(503).end();
    open(response);
    return send(response, 1);
  });
  await until(() => items.length > 0);
  expect(states).toEqual(['connecting', 'reconnecting', 'reconnecting', 'reconnecting', 'live']);
});

test('A stream that falls silent is connected again', async () => {
  const { items, until } = await follow((response, after) => {
    open(response);
    send(response, Number(after ?? 0) + 1);
  }, 150);
  await until(() => items.length >= 2);
  expect(items.map(({ id }) => id).slice(0, 2)).toEqual(['1', '2']);
});

test('A stream that is no longer wanted is closed', async () => {
  const { items, done, until, controller } = await follow((response) => {
    open(response);
    send(response, 1);
  });
  await until(() => items.length > 0);
  controller.abort();
  await done;
  expect(items).toHaveLength(1);
});
