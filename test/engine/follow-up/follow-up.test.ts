import { beforeAll, describe, expect, test } from 'vitest';
import { followUpTurn } from '../../../src/engine/follow-up/follow-up.js';
import { pollClaims } from '../../../src/engine/follow-up/poll-claims.js';
import { openRequests } from '../../../src/engine/follow-up/requests.js';
import type { TokenSource } from '../../../src/engine/jobs/token-source.js';
import { firstClosed } from '../../../src/engine/lane/closed.js';
import { recordsKey } from '../../../src/engine/recipients/campaign-keys.js';
import { campaignContent } from '../../../src/engine/sending/campaign-content.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { laneStatus } from '../../../src/reporting/status.js';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, openDefaultLane, RULES, START } from '../lane/lane-fixture.js';
import { json, onlyForNew, renewedToken, startService } from '../sending/local-service.js';

const { redis, prefix } = testRedis('follow-up');
const NUMBERS = ['+4915700000001', '+4915700000002'] as const;

/** A 200 that reports one status per recipient. */
const report = (...statuses: readonly string[]) =>
  json(200, {
    deliveryInfoList: {
      deliveryInfo: statuses.map((deliveryStatus, at) => ({ address: `tel:${NUMBERS[at]}`, deliveryStatus })),
    },
  });

// A turn whose first settlement has to load its script claims before it settles.
beforeAll(async () => {
  const claim = { number: 1, turn: 't', campaign: 'none', first: 0 };
  await laneFixture(redis, prefix, 'warm-up').settlements.poll([{ claim, result: 'released' }], 0);
});

let lanes = 0;

/** A lane on a real Redis with one accepted request of two recipients, which is due for its first poll. */
async function createFollowUp({
  baseUrl,
  isRemoved = false,
  isDamaged = false,
  ...change
}: {
  readonly baseUrl: string;
  /** The campaign of the request is removed. */
  readonly isRemoved?: boolean;
  /** Its text and its numbers are missing. */
  readonly isDamaged?: boolean;
  readonly tokens?: TokenSource;
  /** Default: 72 hours. */
  readonly deadline?: string;
}) {
  lanes += 1;
  const own = `${prefix}-${lanes}`;
  const fixture = laneFixture(redis, own, 'default');
  const opened = openDefaultLane(redis, own, {
    env: { MAX_RECIPIENTS_PER_REQUEST: '2', FOLLOW_UP_DEADLINE: change.deadline ?? '72h' },
  });
  const { lane, events, emitted } = opened;
  const { tokens = opened.tokens } = change;

  await fixture.campaign('c', 2, { batch: 2 });
  const { claims } = await sendClaims(lane).take({ turn: 's', call: 1, want: 1, seen: 0 });
  const accepted = claims.map(
    (claim) => ({ claim, result: 'accepted', letters: 'NN', requestId: 'r1' }) as const,
  );
  await settleSends(lane, accepted, 0.5);
  await fixture.stored.setFirstPoll('c:0', 1);
  const request = { sender: 'ACME', requestId: 'r1', recipients: NUMBERS };
  if (isRemoved) await redis.unlink(recordsKey(lane.keys, lane.id, 'c', 0));
  const found = { find: async (all: readonly unknown[]) => all.map(() => (isRemoved ? undefined : request)) };
  return {
    fixture,
    emitted,
    types: () => emitted.map(({ type }) => type),
    status: async () => laneStatus(lane, await lane.status()),
    /** The number of requests that are still followed up. */
    followed: async () => (await fixture.stored.followed()).length,
    async turn() {
      const client = createMessagingClient({ baseUrl, timeoutMs: 20_000 });
      const followUp = {
        client,
        tokens,
        requests: isDamaged ? openRequests(lane, campaignContent(lane)) : found,
        recent: recentClaims(lane.monotonic),
        events,
        matches: fixture.matches,
        claims: pollClaims(lane),
        sends: sendClaims(lane),
      };
      const { signal } = new AbortController();
      const end = await followUpTurn(lane, followUp, { turnMs: 20_000, waitHereMs: 0, signal });
      client.close();
      return end;
    },
  };
}

describe('A poll', () => {
  test('that reports a final status of every recipient ends the follow-up and completes the campaign', async () => {
    const service = await startService(report('DeliveredToTerminal', 'DeliveryImpossible'));
    const followUp = await createFollowUp(service);
    expect(await followUp.turn()).toMatchObject({ requests: 1 });
    expect(await followUp.followed()).toBe(0);
    expect(await followUp.fixture.state('c')).toMatchObject({
      state: 'completed',
      counts: { deliveredToTerminal: 1, deliveryImpossible: 1, deliveredToNetwork: 0 },
    });
    expect(followUp.types()).toContain('campaign.completed');
  });

  test('that reports a status that is not final is repeated later', async () => {
    const service = await startService(report('DeliveredToTerminal', 'DeliveredToNetwork'));
    const followUp = await createFollowUp(service);
    expect(await followUp.turn()).toMatchObject({ kind: 'later', why: 'nothing', requests: 1 });
    expect(await followUp.followed()).toBe(1);
    expect((await followUp.fixture.state('c')).counts).toMatchObject({
      deliveredToTerminal: 1,
      deliveredToNetwork: 1,
    });
  });

  test('that reports a status the interface does not list emits an event and is repeated later', async () => {
    const service = await startService(report('DeliveredToTerminal', 'Teleported'));
    const followUp = await createFollowUp(service);
    await followUp.turn();
    expect(followUp.emitted).toContainEqual(
      expect.objectContaining({ type: 'request.unlistedStatus', requestId: 'r1' }),
    );
    expect(await followUp.followed()).toBe(1);
  });

  test.each([
    ['72h', { unconfirmed: 2 }, 'completed'],
    ['never', { deliveredToNetwork: 2, unconfirmed: 0 }, 'running'],
  ])(
    'of an old request without a final report is the last one only after the deadline (%s)',
    async (deadline, counts, state) => {
      const service = await startService(report('DeliveredToNetwork', 'DeliveredToNetwork'));
      const followUp = await createFollowUp({ ...service, deadline });
      const sentAt = Date.now() - 31 * 86_400_000;
      await followUp.fixture.stored.setRequest('c', 0, 2, sentAt, 'r1');
      await followUp.turn();
      expect(await followUp.fixture.state('c')).toMatchObject({ state, counts });
      expect(await followUp.followed()).toBe(deadline === 'never' ? 1 : 0);
    },
  );

  test('of a request that the service does not know emits an event with its message, and is repeated until the deadline', async () => {
    const text = { messageId: 'SVC0002', text: 'No such request %1', variables: ['r1'] };
    const service = await startService(json(404, { requestError: { serviceException: text } }));
    const followUp = await createFollowUp(service);
    await followUp.turn();
    expect(followUp.emitted).toContainEqual({
      type: 'request.missing',
      lane: 'default',
      requestId: 'r1',
      reason: 'SVC0002: No such request r1',
    });
    expect(await followUp.followed()).toBe(1);
    expect((await followUp.fixture.state('c')).counts).toMatchObject({ deliveredToNetwork: 2 });
  });

  test('of a request whose campaign is removed is not made', async () => {
    const service = await startService(report());
    const followUp = await createFollowUp({ ...service, isRemoved: true });
    await followUp.turn();
    expect(service.received).toEqual([]);
    expect(await followUp.followed()).toBe(0);
  });

  test('of a request whose text cannot be read is not made, but reported, and due again later', async () => {
    const service = await startService(report());
    const followUp = await createFollowUp({ ...service, isDamaged: true });
    await followUp.turn();
    expect(service.received).toEqual([]);
    expect(await followUp.followed()).toBe(1);
    expect((await followUp.status()).quota.used).toEqual({ send: 1, poll: 0 });
    const error = expect.objectContaining({ message: 'campaign c has a state but no text' });
    expect(followUp.emitted).toContainEqual(
      expect.objectContaining({ type: 'turn.failed', kind: 'poll', error }),
    );
  });

  test('without a response spends a permit and is repeated later', async () => {
    const service = await startService((request) => void request.socket.destroy());
    const followUp = await createFollowUp(service);
    expect(await followUp.turn()).toMatchObject({ kind: 'later', requests: 1 });
    expect((await followUp.status()).quota.used).toEqual({ send: 1, poll: 1 });
    expect(await followUp.followed()).toBe(1);
    expect(followUp.types()).toContain('request.unanswered');
  });

  test('whose connection is refused spends no permit', async () => {
    const service = await startService(report());
    await service.close();
    const followUp = await createFollowUp(service);
    await followUp.turn();
    expect((await followUp.status()).quota.used).toEqual({ send: 1, poll: 0 });
    const notSent = followUp.emitted.find(({ type }) => type === 'request.notSent');
    expect(notSent).toMatchObject({ reason: expect.stringContaining('ECONNREFUSED') });
  });

  test('that the service answers with 429 makes the lane back off', async () => {
    const service = await startService(json(429, {}, { 'retry-after': '60' }));
    const followUp = await createFollowUp(service);
    expect(await followUp.turn()).toMatchObject({ kind: 'later', why: 'throttled', requests: 1 });
    expect((await followUp.status()).state).toBe('backingOff');
    expect(await followUp.followed()).toBe(1);
  });

  test('that the service answers with 401 is repeated with a new token', async () => {
    const service = await startService(onlyForNew(report('DeliveredToTerminal', 'DeliveredToTerminal')));
    const { tokens } = renewedToken();
    const followUp = await createFollowUp({ ...service, tokens });
    await followUp.turn();
    expect(service.received.map(({ authorisation }) => authorisation)).toEqual(['Bearer old', 'Bearer new']);
    expect((await followUp.fixture.state('c')).state).toBe('completed');
  });

  test('that the service answers with 403 is repeated later, until the deadline', async () => {
    const service = await startService(json(403, {}));
    const followUp = await createFollowUp({ ...service, deadline: '1h' });
    expect(await followUp.turn()).toMatchObject({ kind: 'later', why: 'nothing', requests: 1 });
    expect((await followUp.fixture.state('c')).counts).toMatchObject({ deliveredToNetwork: 2 });
    await followUp.fixture.stored.setRequest('c', 0, 2, Date.now() - 2 * 3_600_000, 'r1');
    await followUp.fixture.stored.setFirstPoll('c:0', 1);
    await followUp.turn();
    expect((await followUp.status()).state).not.toBe('stopped');
    expect((await followUp.fixture.state('c')).counts).toMatchObject({ unconfirmed: 2 });
  });

  test('that the service answers with 403 stops the lane if that of another request was, and none was answered', async () => {
    const lane = laneFixture(redis, `${prefix}-403`, 'default');
    await lane.campaign('c', 3);
    const due = START + RULES.firstPoll;
    await lane.settle(await lane.claim(START, 3), 'accepted', START, { letter: 'N' });
    const [one, two, three] = await lane.poll(due, 3);
    if (one === undefined || two === undefined || three === undefined) throw new Error('no polls');
    await lane.settlePolls(one, 'accused', due);
    await lane.settlePolls(two, 'infos', due, { letters: 'N' });
    await lane.settlePolls(three, 'accused', due);
    expect(firstClosed(await lane.views.look(due), ['stopped'])).toBeUndefined();
    const [again] = await lane.poll(due + RULES.pollAgain, 1);
    if (again === undefined) throw new Error('no poll');
    await lane.settlePolls(again, 'accused', due + RULES.pollAgain, { reason: '403' });
    expect(firstClosed(await lane.views.look(due + RULES.pollAgain), ['stopped'])?.why).toBe('403');
  });

  test.each([
    { deliveryInfoList: { resourceURL: 'http://service.example/r1' } },
    { deliveryInfoList: { deliveryInfo: null } },
    { deliveryInfoList: {} },
    { something: 'else' },
  ])(
    'that the service answers without infos, as %j, ends at the deadline, and the lane stays open',
    async (body) => {
      const service = await startService(json(200, body));
      const followUp = await createFollowUp({ ...service, deadline: '1h' });
      for (let poll = 0; poll < 4; poll += 1) {
        await followUp.fixture.stored.setFirstPoll('c:0', 1);
        await followUp.turn();
      }
      expect(service.received.length).toBe(4);
      await followUp.fixture.stored.setRequest('c', 0, 2, Date.now() - 2 * 3_600_000, 'r1');
      await followUp.fixture.stored.setFirstPoll('c:0', 1);
      await followUp.turn();
      expect((await followUp.fixture.state('c')).counts).toMatchObject({ unconfirmed: 2 });
    },
  );
});
