import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serverTime } from '../../../src/base/redis/connection.js';
import { untilAnswered } from '../../../src/base/redis/until-answered.js';
import type { ClaimCall } from '../../../src/engine/claim/claim-reply.js';
import { followUpTurn } from '../../../src/engine/follow-up/follow-up.js';
import { pollClaims } from '../../../src/engine/follow-up/poll-claims.js';
import type { FollowedRequests } from '../../../src/engine/follow-up/requests.js';
import { settlePolls } from '../../../src/engine/follow-up/settlements.js';
import { DamagedError } from '../../../src/engine/recipients/damaged.js';
import type { Messages } from '../../../src/engine/sending/message.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, openDefaultLane } from '../lane/lane-fixture.js';
import { sendOnce } from './local-service.js';

const { redis, prefix } = testRedis('stopped');
let requests = 0;
const server = createServer((_request, response) => {
  requests += 1;
  response.writeHead(503).end();
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => void server.close(resolve)));

const messages: Messages = {
  isAllowed: async () => true,
  render: async (claims) =>
    claims.map(({ count }) => ({
      sender: 'ACME',
      recipients: Array.from({ length: count }, () => '+4915700000001'),
      text: 'Hi',
      suppressed: Array.from({ length: count }, () => false),
    })),
};

const followed: FollowedRequests = {
  find: async (claims) =>
    claims.map(() => ({ sender: 'ACME', requestId: 'r', recipients: ['+4915700000001'] })),
};

/** A process that stands still for a minute after each claim call, while the sweep settles its claims as overdue. */
function stoppedProcess(name: string) {
  const own = `${prefix}-${name}`;
  const fixture = laneFixture(redis, own, 'default');
  const control = new AbortController();
  let stoppedMs = 0;
  const monotonic = () => performance.now() + stoppedMs;
  const opened = openDefaultLane(redis, own, { env: { FOLLOW_UP_FIRST: '1s' }, monotonic });
  const { lane } = opened;
  const stop = (claims: readonly unknown[]): void => {
    stoppedMs += 60_000;
    if (claims.length === 0) control.abort();
  };
  const [sends, polls] = [sendClaims(lane), pollClaims(lane)];
  const claims = {
    send: {
      ...sends,
      async take(call: ClaimCall) {
        const reply = await sends.take(call);
        stop(reply.claims);
        const overdue = reply.claims.map((claim) => ({ claim, result: 'unknown', overdue: true }) as const);
        await settleSends(lane, overdue, 0);
        return reply;
      },
    },
    poll: {
      ...polls,
      async take(call: ClaimCall) {
        const reply = await polls.take(call);
        stop(reply.claims);
        const overdue = reply.claims.map(
          (claim) => ({ claim, result: 'unanswered', overdue: true }) as const,
        );
        await settlePolls(lane, overdue, 0);
        return reply;
      },
    },
  };
  const options = { turnMs: 100_000, waitHereMs: 0, signal: control.signal };
  return { ...opened, fixture, claims, options, recent: recentClaims(monotonic) };
}

const service = () => ({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });

test('A process that was stopped before it read the reply to its claim sends none of its batches', async () => {
  const { fixture, claims, options, recent, ...opened } = stoppedProcess('send');
  await fixture.campaign('c', 2);
  requests = 0;
  await sendOnce(opened, service(), messages, { recent, claims: claims.send, signal: options.signal });
  expect(requests).toBe(0);
});

test('A claim is confirmed last: what changes while its numbers are checked again keeps its request from leaving', async () => {
  const own = `${prefix}-confirmed-last`;
  const fixture = laneFixture(redis, own, 'default');
  await fixture.campaign('c', 1);
  let stoppedMs = 0;
  const opened = openDefaultLane(redis, own, { monotonic: () => performance.now() + stoppedMs });
  const sends = sendClaims(opened.lane);
  const claims: typeof sends = {
    ...sends,
    async take(call: ClaimCall) {
      const reply = await sends.take(call);
      // Long enough for the claim to be confirmed before its request.
      stoppedMs += 3_000;
      return reply;
    },
  };
  const isAllowed = async () => {
    await fixture.commands.campaign('pause', 'c', 'a test');
    return true;
  };
  requests = 0;
  await sendOnce(opened, service(), { ...messages, isAllowed }, { claims });
  expect(requests).toBe(0);
  expect((await fixture.state('c')).counts).toMatchObject({ planned: 1, sending: 0 });
});

test('A wall clock that is set forward returns unsent batches to planned, and makes none unknown', async () => {
  const own = `${prefix}-forward`;
  const fixture = laneFixture(redis, own, 'default');
  await fixture.campaign('c', 5);
  let [aheadMs, calls] = [0, 0];
  const control = new AbortController();
  const opened = openDefaultLane(redis, own, { clock: () => Date.now() + aheadMs });
  const sends = sendClaims(opened.lane);
  const claims: typeof sends = {
    ...sends,
    async take(call: ClaimCall) {
      calls += 1;
      if (calls === 3) control.abort();
      const reply = await sends.take(call);
      aheadMs += 2 * 3_600_000;
      return reply;
    },
  };
  requests = 0;
  await sendOnce(opened, service(), messages, { claims, signal: control.signal });
  expect(calls).toBeGreaterThan(0);
  expect(requests).toBe(0);
  expect((await fixture.state('c')).counts).toMatchObject({ planned: 5, sending: 0, unknown: 0 });
  expect(await fixture.stored.claims()).toEqual({});
});

test('A process that was stopped before it read the reply to its claim makes no poll without a permit', async () => {
  const { fixture, lane, tokens, events, claims, options, recent } = stoppedProcess('poll');
  await fixture.campaign('c', 1, { counts: { deliveredToNetwork: 1 }, cursor: 1 });
  await fixture.stored.setFirstPoll('c:0', 1);
  const client = createMessagingClient({ ...service(), timeoutMs: 20_000 });
  requests = 0;
  const { matches } = fixture;
  const found = {
    claims: claims.poll,
    sends: sendClaims(lane),
    client,
    tokens,
    requests: followed,
    recent,
    events,
    matches,
  };
  await followUpTurn(lane, found, options);
  expect(requests).toBe(0);
  client.close();
});

test('An error about damaged data is reported at once and not retried', async () => {
  let tries = 0;
  const damaged = untilAnswered(async () => {
    tries += 1;
    throw new DamagedError('there is no slice 3');
  });
  await expect(damaged).rejects.toThrow('no slice');
  expect(tries).toBe(1);
});

test.each([
  ['sends nothing after it', 1_000, 0],
  ['sends as long as the window is open', 60_000, 2],
])('A process that was stopped while its window closed %s', async (_, closesInMs, expected) => {
  const own = `${prefix}-window-${closesInMs}`;
  const fixture = laneFixture(redis, own, 'default');
  const now = await serverTime(redis);
  await fixture.stored.setOpenings('w', now, [now - 1_000, now + closesInMs]);
  await fixture.campaign('c', 2, { window: 'w' });
  let [stoppedMs, calls] = [0, 0];
  const control = new AbortController();
  const monotonic = () => performance.now() + stoppedMs;
  const opened = openDefaultLane(redis, own, { monotonic });
  const sends = sendClaims(opened.lane);
  const claims: typeof sends = {
    ...sends,
    async take(call: ClaimCall) {
      calls += 1;
      if (calls > 1) control.abort();
      const reply = await sends.take(call);
      // Too short for the claim to be confirmed before its request.
      stoppedMs += 1_500;
      return reply;
    },
  };
  requests = 0;
  await sendOnce(opened, service(), messages, { claims, signal: control.signal });
  expect(requests).toBe(expected);
  if (expected === 0) expect((await fixture.state('c')).counts).toMatchObject({ planned: 2, sending: 0 });
});
