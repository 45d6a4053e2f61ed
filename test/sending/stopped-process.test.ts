import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadLocalConfig } from '../../src/config/index.js';
import { createEvents } from '../../src/events/events.js';
import { followUpTurn } from '../../src/follow-up/follow-up.js';
import { createMessagingClient } from '../../src/gateway/messaging.js';
import { openLane } from '../../src/lane/lane.js';
import { laneTokenSource } from '../../src/lane/token-source.js';
import { DamagedError } from '../../src/recipients/slices.js';
import { keyNames } from '../../src/redis/keys.js';
import { untilAnswered } from '../../src/redis/until-answered.js';
import type { Manuscripts } from '../../src/sending/messages.js';
import { createMemory } from '../../src/sending/recent-claims.js';
import { sendTurn } from '../../src/sending/send.js';
import { laneFixture } from '../lane/lane-fixture.js';
import { testRedis } from '../redis/test-redis.js';

const { redis, prefix } = testRedis('stopped');
const events = createEvents({ level: 'silent' });
let requests = 0;
const server = createServer((_request, response) => {
  requests += 1;
  response.writeHead(503).end();
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => void server.close(resolve)));

const texts: Manuscripts = {
  messages: async (claims) =>
    claims.map(({ count }) => ({
      sender: 'ACME',
      recipients: Array.from({ length: count }, () => '+4915700000001'),
      text: 'Hi',
      suppressed: Array.from({ length: count }, () => false),
    })),
  followed: async (claims) =>
    claims.map(() => ({ sender: 'ACME', requestId: 'r', recipients: ['+4915700000001'] })),
};

/** A process that is stopped for a minute whenever it has asked for a claim, and is swept up after meanwhile. */
function stoppedProcess(name: string) {
  const own = `${prefix}-${name}`;
  const fixture = laneFixture(redis, own, 'default');
  const config = loadLocalConfig({
    HOURLY_QUOTA: '1000',
    REDIS_URL: 'redis://127.0.0.1',
    FOLLOW_UP_FIRST: '1s',
  });
  const [settings] = config.lanes;
  if (settings === undefined) throw new Error('no lane');
  const lane = openLane(redis, keyNames(own), config, settings, events, () => 0.5);
  const control = new AbortController();
  let stoppedMs = 0;
  const sweep = async (
    kind: 'send' | 'poll',
    list: readonly { number: number; campaign: string; first: number }[],
  ) => {
    stoppedMs += 60_000;
    if (list.length === 0) control.abort();
    if (kind === 'poll') {
      await lane.settlements.poll(
        list.map((claim) => ({ claim, as: 'unanswered', overdue: true }) as const),
        0,
      );
    } else {
      const claims = list.map((claim) => ({ ...claim, count: 1 }));
      await lane.settlements.send(
        claims.map((claim) => ({ claim, as: 'unknown', overdue: true }) as const),
        0,
      );
    }
  };
  const stopped: typeof lane = {
    ...lane,
    claims: {
      ...lane.claims,
      async send(call) {
        const reply = await lane.claims.send(call);
        await sweep('send', reply.claims);
        return reply;
      },
      async poll(call) {
        const reply = await lane.claims.poll(call);
        await sweep('poll', reply.claims);
        return reply;
      },
    },
  };
  const monotonic = () => performance.now() + stoppedMs;
  const options = { monotonic, turnMs: 100_000, waitHereMs: 0, inFlight: 4, signal: control.signal };
  return { fixture, lane: stopped, options, memory: createMemory(monotonic) };
}

const client = () =>
  createMessagingClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    timeoutMs: 1_000,
  });
const tokenSource = laneTokenSource('default', { kind: 'apiKey', apiKey: 'k' }, undefined);

test('a process that was stopped before it read the answer to its claim sends nothing of it', async () => {
  const { fixture, lane, options, memory } = stoppedProcess('send');
  await fixture.campaign('c', 2);
  const messaging = client();
  requests = 0;
  const stage = { messaging, monotonic: options.monotonic, areSuppressed: async () => [], failed: () => {} };
  await sendTurn(stage, lane, tokenSource, texts, memory, options);
  expect(requests).toBe(0);
  messaging.close();
});

test('a process that was stopped before it read the answer to its claim of a poll does not ask without a permit', async () => {
  const { fixture, lane, options, memory } = stoppedProcess('poll');
  await fixture.campaign('c', 1, { n: { deliveredToNetwork: 1 }, cursor: 1 });
  await redis.zadd(fixture.keys.lane('default', 'unpolled'), 1, 'c:0');
  const messaging = client();
  requests = 0;
  const { matches } = fixture;
  await followUpTurn({ messaging, events, matches }, lane, tokenSource, texts, memory, options);
  expect(requests).toBe(0);
  messaging.close();
});

test('what no waiting mends is not waited for', async () => {
  let tries = 0;
  const damaged = untilAnswered(async () => {
    tries += 1;
    throw new DamagedError('there is no slice 3');
  });
  await expect(damaged).rejects.toThrow('no slice');
  expect(tries).toBe(1);
});
