import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Messages } from '../../../src/engine/sending/message.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, openDefaultLane } from '../lane/lane-fixture.js';
import { sendOnce } from './local-service.js';

const { redis, prefix } = testRedis('maybe-accepted');
let asked = 0;
let repeatAnswer: { readonly status: number; readonly code?: string } = { status: 503 };
/** Answers 503, after which a request may have been accepted, and something else to a repeat. */
const server = createServer((request, response) => {
  request.resume();
  asked += 1;
  const { status, code } = asked === 1 ? { status: 503 } : repeatAnswer;
  const error = { requestError: { serviceException: { messageId: code, text: '', variables: [] } } };
  response.writeHead(status).end(code === undefined ? '' : JSON.stringify(error));
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => void server.close(resolve)));
// A turn whose first settlement has to load its script claims before it settles.
beforeAll(async () => {
  const claim = { number: 1, turn: 't', campaign: 'none', first: 0, count: 1 };
  await laneFixture(redis, `${prefix}-warm-up`, 'default').settlements.send(
    [{ claim, result: 'released' }],
    0,
  );
});

/** A campaign of one batch on a lane that deduplicates, after a turn that sends it as often as it may be sent. */
async function sent(name: string, suppressedLater: boolean) {
  asked = 0;
  const own = `${prefix}-${name}`;
  const fixture = laneFixture(redis, own, 'default');
  await fixture.campaign('c', 2, { batch: 2 });
  const opened = openDefaultLane(redis, own, {
    env: { MAX_RECIPIENTS_PER_REQUEST: '2' },
    change: { clientCorrelator: { deduplicatesForMs: 86_400_000 } },
  });
  const messages: Messages = {
    isAllowed: async () => true,
    render: async (claims) =>
      claims.map(() => {
        const isOne = suppressedLater && asked > 0;
        return {
          sender: 'ACME',
          recipients: ['+4915700000001', ...(isOne ? [] : ['+4915700000002'])],
          text: 'Hi',
          clientCorrelator: 'c-0-2',
          suppressed: [false, isOne],
        };
      }),
  };
  const { port } = server.address() as AddressInfo;
  await sendOnce(opened, { baseUrl: `http://127.0.0.1:${port}` }, messages);
  return { counts: (await fixture.state('c')).counts, emitted: opened.emitted };
}

test('A batch that may have been accepted is not sent again under its correlator without recipients suppressed since', async () => {
  const { counts } = await sent('suppressed', true);
  expect(asked).toBe(1);
  expect(counts).toMatchObject({ unknown: 2, planned: 0, sending: 0 });
});

const NOT_ACCEPTED = 'an earlier request may have been accepted, and its repeat was not: ';
test.each([
  [503, undefined, 'The service answered 503.'],
  [400, undefined, `${NOT_ACCEPTED}The service answered 400`],
  [400, 'SVC0005', 'the service knows this correlator'],
  [409, 'SVC0005', 'the service knows this correlator'],
  [400, 'SVC0004', `${NOT_ACCEPTED}The service answered 400: it refuses a recipient.`],
  [400, 'POL1010', `${NOT_ACCEPTED}The service answered 400: it refuses the account`],
  [403, undefined, `${NOT_ACCEPTED}The service answered 403`],
  [404, undefined, `${NOT_ACCEPTED}The service answered 404`],
  [409, undefined, `${NOT_ACCEPTED}The service answered 409`],
  [413, undefined, `${NOT_ACCEPTED}The service answered 413`],
  [422, undefined, `${NOT_ACCEPTED}The service answered 422`],
])(
  'A repeat that is answered with %i (%s) leaves its batch unknown, and the lane open',
  async (status, code, reason) => {
    repeatAnswer = { status, ...(code === undefined ? {} : { code }) };
    const { counts, emitted } = await sent(`answered-${status}-${code}`, false);
    expect(asked).toBe(2);
    expect(counts).toMatchObject({ unknown: 2, planned: 0, sending: 0 });
    const unknown = { type: 'request.unknown', recipientCount: 2, reason: expect.stringContaining(reason) };
    expect(emitted).toContainEqual(expect.objectContaining(unknown));
    expect(emitted.map(({ type }) => type)).not.toContain('lane.stopped');
  },
);

test('A repeat that is answered with 401 waits to be repeated again, also if that stops its lane', async () => {
  repeatAnswer = { status: 401 };
  const { counts, emitted } = await sent('answered-401', false);
  expect(asked).toBe(2);
  expect(counts).toMatchObject({ planned: 2, unknown: 0, sending: 0 });
  expect(emitted.map(({ type }) => type)).toContain('lane.stopped');
});
