import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMessagingClient } from '../../src/gateway/messaging.js';
import type { Messages } from '../../src/sending/messages.js';
import { recentClaims } from '../../src/sending/recent-claims.js';
import { sendTurn } from '../../src/sending/send.js';
import { laneFixture, openDefaultLane } from '../lane/lane-fixture.js';
import { testRedis } from '../redis/test-redis.js';

const { redis, prefix } = testRedis('maybe-accepted');
let asked = 0;
/** Answers 503, after which a request may have been accepted. */
const server = createServer((request, response) => {
  request.resume();
  asked += 1;
  response.writeHead(503).end();
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => void server.close(resolve)));

/** The second of the two is suppressed once the first request has been made. */
const messages: Messages = {
  render: async (claims) =>
    claims.map(() => {
      const isOne = asked > 0;
      const recipients = ['+4915700000001', ...(isOne ? [] : ['+4915700000002'])];
      return {
        sender: 'ACME',
        recipients,
        text: 'Hi',
        clientCorrelator: 'c-0-2',
        suppressed: [false, isOne],
      };
    }),
};

test('A batch that may have been accepted is not sent again under its correlator without recipients suppressed since', async () => {
  const fixture = laneFixture(redis, prefix, 'default');
  await fixture.campaign('c', 2, { batch: 2 });
  const { lane, tokens } = openDefaultLane(redis, prefix, {
    env: { MAX_RECIPIENTS_PER_REQUEST: '2' },
    change: { clientCorrelator: { deduplicatesForMs: 86_400_000 } },
  });
  const port = (server.address() as AddressInfo).port;
  const client = createMessagingClient({ baseUrl: `http://127.0.0.1:${port}`, timeoutMs: 20_000 });
  const signal = new AbortController().signal;
  const options = { turnMs: 20_000, waitHereMs: 0, signal };
  await sendTurn(
    lane,
    { client, tokens, messages, recent: recentClaims(lane.monotonic), failed: () => {} },
    options,
  );
  client.close();
  expect(asked).toBe(1);
  expect((await fixture.state('c')).counts).toMatchObject({ unknown: 2, planned: 0, sending: 0 });
});
