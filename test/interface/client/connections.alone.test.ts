import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, type TestContext } from 'vitest';
import { monotonicClock, systemMachine } from '../../../src/base/clock.js';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import { startTcpProxy } from '../../faults/tcp-proxy.js';
import { type Answer, PERMIT, type RawServer, rawServer, reply } from '../raw-server.js';

const MESSAGE = { sender: 'ACME', recipients: ['+358401234567'], text: 'Hello' };
const HEAD = ['HTTP/1.1 201 Created', 'Location: http://h/outbound/ACME/requests/r1'];
const CREATED = reply(HEAD);
const ONE_WAY_MS = 20;
const IDLE_MS = 500;

/**
 * A client of a service that is 20 ms away. `send` starts requests at the same time and counts their outcomes; the client's clock
 * is ahead by `passed`.
 */
async function farAway(answer: Answer, { onTestFinished: afterTest }: TestContext) {
  const server = await rawServer(answer, () => {}, afterTest);
  const proxy = await startTcpProxy(server.port);
  proxy.shapeTraffic({ delayMs: ONE_WAY_MS, dripMs: 0 });
  const passed = { ms: 0 };
  const monotonic = (): number => monotonicClock() + passed.ms;
  const client = createMessagingClient({
    baseUrl: `http://127.0.0.1:${proxy.port}`,
    timeoutMs: 5_000,
    clocks: { ...systemMachine, monotonic },
  });
  afterTest(async () => {
    client.close();
    await proxy.close();
  });
  const outcomes = { accepted: 0, unknown: 0, other: 0 };
  const send = async (requests: number): Promise<void> => {
    const sent = Array.from({ length: requests }, () =>
      client.send(MESSAGE, { authorization: 'KEY-1' }, PERMIT),
    );
    for (const { kind } of await Promise.all(sent)) {
      outcomes[kind === 'accepted' || kind === 'unknown' ? kind : 'other'] += 1;
    }
  };
  return { server, send, outcomes, passed };
}

/** Sends until no new connection is needed for as many requests at a time, which takes the 3 s of a trial. */
async function untilReused(
  { server, send }: { server: RawServer; send: (requests: number) => Promise<void> },
  requests = 1,
): Promise<void> {
  for (let before = -1; before !== server.connections(); ) {
    before = server.connections();
    await send(requests);
  }
}

/**
 * Sends until a request was reset. On a busy machine a connection may have been idle for longer than the client trusts it, and then the
 * request opens a new one.
 */
async function untilReset({ outcomes, send }: Awaited<ReturnType<typeof farAway>>): Promise<void> {
  for (let tries = 0; outcomes.unknown === 0 && tries < 100; tries += 1) await send(1);
  expect(outcomes.unknown).toBe(1);
}

/** Answers, and closes the connection when it has been idle for half a second. */
function closingIdle(): (socket: Socket) => void {
  const timers = new WeakMap<Socket, NodeJS.Timeout>();
  return (socket) => {
    clearTimeout(timers.get(socket));
    socket.write(CREATED);
    timers.set(
      socket,
      setTimeout(() => socket.end(), IDLE_MS),
    );
  };
}

/** Answers once, and closes the connection `ms` later without having announced it. */
function closingAfter(ms: number): (socket: Socket) => void {
  const answered = new WeakSet<Socket>();
  return (socket) => {
    if (answered.has(socket)) return;
    answered.add(socket);
    socket.write(CREATED);
    setTimeout(() => socket.end(), ms);
  };
}

/** Answers until `resets` is set, then resets every connection that is used again. */
function resettingReused() {
  const mood = { resets: false };
  const used = new WeakSet<Socket>();
  const answer = (socket: Socket): void => {
    if (mood.resets && used.has(socket)) return void socket.resetAndDestroy();
    used.add(socket);
    socket.write(CREATED);
  };
  return { mood, answer };
}

describe.concurrent('no outcome is unknown', () => {
  it.for([1, 8])(
    'if the service closes idle connections unannounced, with %i requests at a time',
    async (n, context) => {
      const { send, outcomes } = await farAway(closingIdle(), context);
      for (let round = 0; round < 10; round += 1) {
        await send(n);
        // The close and the next request pass each other.
        await delay(IDLE_MS - 2 * ONE_WAY_MS - 5 + 5 * round);
      }
      expect(outcomes).toEqual({ accepted: 10 * n, unknown: 0, other: 0 });
    },
  );

  it.for([
    { ms: 0, n: 1 },
    { ms: 0, n: 8 },
    { ms: 5, n: 8 },
    { ms: 70, n: 8 },
  ])(
    'if the service closes each connection $ms ms after its response, with $n requests at a time',
    async ({ ms, n }, context) => {
      const { send, outcomes } = await farAway(closingAfter(ms), context);
      for (let round = 0; round < 15; round += 1) await send(n);
      expect(outcomes).toEqual({ accepted: 15 * n, unknown: 0, other: 0 });
    },
  );

  it.for(['Connection: close', 'Keep-Alive: timeout=1'])(
    'if the service announces `%s`',
    async (header, context) => {
      const answer = (socket: Socket) => void socket.write(reply([...HEAD, header]));
      const { server, send, outcomes } = await farAway(answer, context);
      for (let round = 0; round < 10; round += 1) {
        await send(1);
        await delay(20);
      }
      expect(outcomes.accepted).toBe(10);
      expect(server.connections()).toBe(10);
    },
  );
});

describe.concurrent('connections are reused', () => {
  it('after a service has been seen to keep one', async (context) => {
    const far = await farAway((socket) => void socket.write(CREATED), context);
    await untilReused(far, 4);
    const before = far.server.connections();
    for (let round = 0; round < 20; round += 1) await far.send(4);
    expect(far.server.connections()).toBe(before);
    expect(far.outcomes.unknown).toBe(0);
  });

  it('only if they have been idle for at most 1.5 s', async (context) => {
    const far = await farAway((socket) => void socket.write(CREATED), context);
    await untilReused(far);
    const before = far.server.connections();
    await delay(1_600);
    await far.send(1);
    expect(far.server.connections()).toBe(before + 1);
  });

  it('never of a service that closes one within 3 s', async (context) => {
    const far = await farAway(closingIdle(), context);
    const began = performance.now();
    let sent = 0;
    for (; performance.now() - began < 3_500; sent += 1) await far.send(1);
    expect(far.server.connections()).toBe(sent);
  });
});

describe.concurrent('a reset of a reused connection', () => {
  it('leaves one outcome unknown, and no more', async (context) => {
    const { mood, answer } = resettingReused();
    const far = await farAway(answer, context);
    await untilReused(far, 8);
    mood.resets = true;
    await untilReset(far);
    // The other seven connections were idle too.
    for (let round = 0; round < 10; round += 1) await far.send(8);
    expect(far.outcomes).toMatchObject({ unknown: 1, other: 0 });
  });

  it('is not forgotten for an hour, and then a connection is tried again', async (context) => {
    const { mood, answer } = resettingReused();
    const far = await farAway(answer, context);
    await untilReused(far);
    mood.resets = true;
    await untilReset(far);
    mood.resets = false;
    const reusesAfter = async (ms: number): Promise<boolean> => {
      far.passed.ms = ms;
      // Longer than a trial.
      const began = performance.now();
      while (performance.now() - began < 4_500) {
        const before = far.server.connections();
        await far.send(1);
        if (far.server.connections() === before) return true;
      }
      return false;
    };
    expect(await reusesAfter(3_500_000)).toBe(false);
    expect(await reusesAfter(3_700_000)).toBe(true);
  });
});

it('Connections that the service closes while they are idle are a warning: the others are not used again', async (context) => {
  const sockets = new Set<Socket>();
  const far = await farAway((socket) => {
    sockets.add(socket);
    socket.write(CREATED);
  }, context);
  await untilReused(far, 8);
  const before = far.server.connections();
  // One of eight.
  const [one] = [...sockets].reverse();
  one?.end();
  await delay(3 * ONE_WAY_MS);
  await far.send(8);
  expect(far.server.connections()).toBe(before + 8);
  expect(far.outcomes.unknown).toBe(0);
});
