import { expect, test } from 'vitest';
import { followUpTurn } from '../../../src/engine/follow-up/follow-up.js';
import { pollClaims } from '../../../src/engine/follow-up/poll-claims.js';
import { openRequests } from '../../../src/engine/follow-up/requests.js';
import type { Lane } from '../../../src/engine/lane/lane.js';
import { laneTokenSource } from '../../../src/engine/lane/lane-token-source.js';
import { matchStore } from '../../../src/engine/notifications/match-store.js';
import { notificationStore } from '../../../src/engine/notifications/notification-store.js';
import { campaignContent } from '../../../src/engine/sending/campaign-content.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from '../../intake/import/import-fixture.js';
import { partsOf, rawServer, reply } from '../../interface/raw-server.js';
import { storedLane } from '../../scene/stored.js';

const { redis, prefix } = testRedis('matching');
let fixtures = 0;

/**
 * A batch of two recipients with an unknown outcome is matched to request `x`. The service gives this answer to the poll.
 * `meanwhile` runs before it answers.
 */
async function polled(
  answer: string,
  meanwhile: (lane: Lane, send: (text: string) => Promise<string>) => Promise<unknown> = async () => {},
) {
  fixtures += 1;
  const { deps, keys, lanes, emitted } = importFixture(redis, `${prefix}-${fixtures}`, {
    CALLBACK_URL: 'https://volley.example/in',
    CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length',
    MAX_RECIPIENTS_PER_REQUEST: '2',
  });
  const lane = lanes.get('default');
  if (lane === undefined) throw new Error('no lane');
  const send = async (message: string): Promise<string> => {
    const recipients = [{ to: mobile(0) }, { to: mobile(1) }];
    const outcome = await importCampaign(deps, { recipients, message, again: true });
    if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
    return outcome.id;
  };
  const id = await send('Sale');
  const { claims } = await sendClaims(lane).take({ turn: 't', call: 1, want: 1, seen: 0 });
  const [claim] = claims;
  if (claim === undefined) throw new Error('nothing to send');
  await settleSends(lane, [{ claim, result: 'unknown', reason: 'no answer' }], 0);
  const matches = matchStore(lane);
  await matches.match({ number: claim.number, campaign: id, first: 0, requestId: 'x' });

  const server = await rawServer((socket) => {
    void meanwhile(lane, send).then(() => socket.write(answer));
  });
  const client = createMessagingClient({ baseUrl: server.origin, timeoutMs: 20_000 });
  const tokens = laneTokenSource('default', { kind: 'apiKey', apiKey: 'key' }, undefined);
  const requests = openRequests(lane, campaignContent(lane));
  const recent = recentClaims(lane.monotonic);
  const options = { turnMs: 20_000, waitHereMs: 0, signal: new AbortController().signal };
  const stores = { claims: pollClaims(lane), sends: sendClaims(lane) };
  await followUpTurn(
    lane,
    { client, tokens, requests, recent, events: deps.events, matches, ...stores },
    options,
  );
  client.close();
  const polls = await storedLane(lane).polls();
  return {
    lines: server.requests.map((request) => partsOf(request).line),
    state: await readState(redis, keys, 'default', id),
    matchedTo: (await listUnknown(lane)).map(({ matchedRequestId }) => matchedRequestId),
    due: Object.keys(polls.first),
    polled: Object.keys(polls.again),
    confirmed: emitted.filter(({ type }) => type === 'request.confirmed').length,
    stopped: emitted.filter(({ type }) => type === 'lane.stopped').length,
    located: await notificationStore(lane).locate(['x']),
    id,
  };
}

const infos = (statuses: Record<string, string>): string =>
  reply(
    ['HTTP/1.1 200 OK', 'Content-Type: application/json'],
    JSON.stringify({
      deliveryInfoList: {
        deliveryInfo: Object.entries(statuses).map(([number, deliveryStatus]) => ({
          address: `tel:${number}`,
          deliveryStatus,
        })),
      },
    }),
  );

test('A matched request with exactly the recipients of the batch confirms the match and is followed up like any other', async () => {
  const it = await polled(infos({ [mobile(1)]: 'DeliveredToNetwork', [mobile(0)]: 'DeliveredToTerminal' }));
  expect(it.lines).toEqual(['GET /outbound/12345/requests/x/deliveryInfos HTTP/1.1']);
  expect(it.state?.counts).toMatchObject({ deliveredToTerminal: 1, deliveredToNetwork: 1 });
  expect([it.confirmed, it.matchedTo, it.due, it.polled]).toEqual([1, [], [], [`${it.id}:0`]]);
  expect(it.located).toEqual([{ campaign: it.id, first: 0, count: 2 }]);
  expect(it.state).toMatchObject({ requests: { accepted: 1, poll: 1 } });
});

test('A confirmed match whose recipients are all final completes the campaign', async () => {
  const it = await polled(infos({ [mobile(0)]: 'DeliveredToTerminal', [mobile(1)]: 'DeliveryImpossible' }));
  expect(it.state).toMatchObject({
    state: 'completed',
    counts: { deliveredToTerminal: 1, deliveryImpossible: 1 },
  });
  expect([it.due, it.polled, it.located]).toEqual([[], [], [null]]);
});

test.each([
  ['reports one of the recipients only', infos({ [mobile(0)]: 'DeliveredToTerminal' })],
  [
    'reports another recipient as well',
    infos({
      [mobile(0)]: 'DeliveredToTerminal',
      [mobile(1)]: 'DeliveredToTerminal',
      [mobile(2)]: 'DeliveredToTerminal',
    }),
  ],
  [
    'reports a different recipient',
    infos({ [mobile(0)]: 'DeliveredToTerminal', [mobile(2)]: 'DeliveredToTerminal' }),
  ],
  [
    'reports another recipient as well, with an unlisted status',
    infos({
      [mobile(0)]: 'DeliveredToTerminal',
      [mobile(1)]: 'DeliveredToTerminal',
      [mobile(2)]: 'MessageWaiting',
    }),
  ],
  [
    'reports another recipient as well, with an unreadable number',
    infos({
      [mobile(0)]: 'DeliveredToTerminal',
      [mobile(1)]: 'DeliveredToTerminal',
      x: 'DeliveredToTerminal',
    }),
  ],
  ['is unknown to the service', reply(['HTTP/1.1 404 Not Found'])],
  ['is forbidden to this key', reply(['HTTP/1.1 403 Forbidden'])],
  ['has an id that the service rejects', reply(['HTTP/1.1 414 URI Too Long'])],
])(
  'A matched request that %s clears the match: the batch stays unknown and is not polled again',
  async (_, answer) => {
    const it = await polled(answer);
    expect(it.lines).toHaveLength(1);
    expect(it.state?.counts).toMatchObject({ unknown: 2 });
    expect([it.confirmed, it.matchedTo, it.due, it.polled, it.located]).toEqual([0, [null], [], [], [null]]);
    expect(it.stopped).toBe(0);
  },
);

test('A matched request is polled again later if the service fails', async () => {
  const it = await polled(reply(['HTTP/1.1 500 Internal Server Error']));
  expect(it.state?.counts).toMatchObject({ unknown: 2 });
  expect([it.confirmed, it.matchedTo, it.due]).toEqual([0, ['x'], [`${it.id}:0`]]);
});

const BOTH_FINAL = infos({ [mobile(0)]: 'DeliveredToTerminal', [mobile(1)]: 'DeliveryImpossible' });

test('A poll changes nothing of a batch that was resolved in the meantime', async () => {
  const it = await polled(BOTH_FINAL, async (lane) =>
    resolveBatches(lane, 'accepted', 'by hand', await listUnknown(lane)),
  );
  expect(it.state?.counts).toMatchObject({ unconfirmed: 2 });
});

test('A poll changes nothing of a batch that was resent and accepted under another id in the meantime', async () => {
  const it = await polled(BOTH_FINAL, async (lane) => {
    await resolveBatches(lane, 'resend', 'by hand', await listUnknown(lane));
    const { claims } = await sendClaims(lane).take({ turn: 'again', call: 1, want: 1, seen: 0 });
    const again = claims.map(
      (claim) => ({ claim, result: 'accepted', letters: 'NN', requestId: 'y' }) as const,
    );
    await settleSends(lane, again, 0);
  });
  expect(it.state?.counts).toMatchObject({ deliveredToNetwork: 2 });
  expect([...it.due, ...it.polled]).toEqual([`${it.id}:0`]);
});

test('A request that turns out to be another batch in the meantime clears the match', async () => {
  let other = '';
  const it = await polled(BOTH_FINAL, async (lane, send) => {
    other = await send('Another');
    const { claims } = await sendClaims(lane).take({ turn: 'other', call: 1, want: 1, seen: 0 });
    const entries = claims.map(
      (claim) => ({ claim, result: 'accepted', letters: 'NI', requestId: 'x' }) as const,
    );
    await settleSends(lane, entries, 0);
  });
  expect(it.state?.counts).toMatchObject({ unknown: 2 });
  expect([it.confirmed, it.matchedTo]).toEqual([0, [null]]);
  // Reports of the other batch still find it.
  expect(it.located).toEqual([{ campaign: other, first: 0, count: 2 }]);
});
