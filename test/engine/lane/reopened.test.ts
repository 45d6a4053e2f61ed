import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { firstClosed } from '../../../src/engine/lane/closed.js';
import type { Messages } from '../../../src/engine/sending/message.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { sendOnce } from '../sending/local-service.js';
import { laneFixture, openDefaultLane } from './lane-fixture.js';

const { redis, prefix } = testRedis('reopened');
const PATIENCE = { timeout: 60_000 };
const waiting: ServerResponse[] = [];
const server = createServer((request, response) => {
  request.resume();
  waiting.push(response);
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => void server.close(resolve)));

const messages: Messages = {
  isAllowed: async () => true,
  render: async (claims) =>
    claims.map(() => ({ sender: 'ACME', recipients: ['+4915700000001'], text: 'Hi', suppressed: [false] })),
};

async function refuseOne(): Promise<void> {
  const response = waiting.shift();
  if (response === undefined) throw new Error('no request waits for its answer');
  response.writeHead(401, { 'content-type': 'application/json' }).end('{}');
  await once(response, 'close');
}

test('A 401 to a request from before the operator resumed the lane does not stop it again', async () => {
  const fixture = laneFixture(redis, prefix, 'default');
  const opened = openDefaultLane(redis, prefix);
  const { lane } = opened;
  const { port } = server.address() as AddressInfo;
  await fixture.campaign('c', 3, { batch: 1 });
  const turn = sendOnce(opened, { baseUrl: `http://127.0.0.1:${port}` }, messages);

  await vi.waitUntil(() => waiting.length === 3, PATIENCE);
  await refuseOne();
  await vi.waitUntil(async () => firstClosed(await lane.freshStatus(), ['stopped']) !== undefined, PATIENCE);
  await lane.commands.lane('resume');
  await refuseOne();
  await vi.waitUntil(async () => (await lane.freshStatus()).inFlightSends === 1, PATIENCE);
  await refuseOne();
  await turn;
  expect(firstClosed(await lane.freshStatus(), ['stopped'])).toBeUndefined();
});

test('A cause that stopped a lane does not stop it again once an operator has resumed it', async () => {
  const { commands, views } = laneFixture(redis, `${prefix}-news`, 'default');
  const { epoch } = await views.look();
  expect(await commands.stop('the account is blocked', epoch)).toBe(true);
  expect(await commands.stop('the account is blocked', epoch)).toBe(false);
  expect((await views.look()).closed).toMatchObject([{ cause: 'stopped', why: 'the account is blocked' }]);
  await commands.lane('resume');
  expect(await commands.stop('the account is blocked', epoch)).toBe(false);
  expect((await views.look()).closed).toMatchObject([{ cause: 'unattended' }]);
});

test('A resumed lane tries the service with one request before it sends at full speed', async () => {
  const it = laneFixture(redis, `${prefix}-tried`, 'default');
  await it.campaign('c', 100);
  const turn = { turn: 'turn', want: 10, seen: 0 };
  const { epoch } = await it.views.look();
  await it.commands.stop('the key is not accepted', epoch);
  await it.commands.lane('resume');
  const tried = await it.claims.send({ ...turn, call: 1 });
  expect([tried.claims.length, tried.why]).toEqual([1, 'inFlight']);
  const claim = tried.claims[0];
  if (claim === undefined) throw new Error('no claim');

  await it.settle(claim, 'stopped', undefined, { reason: 'the key is not accepted' });
  expect(firstClosed(await it.views.look(), ['stopped'])?.why).toBe('the key is not accepted');
  await it.commands.lane('resume');
  const again = await it.claims.send({ ...turn, call: 2 });
  expect(again.claims.length).toBe(1);

  const [good] = again.claims;
  if (good === undefined) throw new Error('no claim');
  await it.settle(good, 'accepted', undefined, { requestId: 'r', reason: '' });
  expect((await it.claims.send({ ...turn, call: 3 })).claims.length).toBe(10);
});

test('Requests left in flight by a killed worker neither prevent nor multiply the request that tries a resumed lane', async () => {
  const it = laneFixture(redis, `${prefix}-left`, 'default');
  await it.campaign('c', 100);
  const killed = await it.claims.send({ turn: 'killed', call: 1, want: 10, seen: 0 });
  await it.commands.stop('the key is not accepted', (await it.views.look()).epoch);
  await it.commands.lane('resume');
  const turn = { turn: 'next', want: 10, seen: 0 };
  expect((await it.claims.send({ ...turn, call: 1 })).claims.length).toBe(1);
  await it.settlements.send(
    killed.claims.map((claim) => ({ claim, result: 'unknown', overdue: true, reason: 'killed' }) as const),
    0,
  );
  expect((await it.claims.send({ ...turn, call: 2 })).claims).toEqual([]);
});
