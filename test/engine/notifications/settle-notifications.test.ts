import { expect, test } from 'vitest';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('notify');
const NOTIFIED = {
  notify: true,
  early: 120_000,
  heard: 600_000,
  patience: 150_000,
  quota: 1_000_000,
  inFlight: 500,
} as const;

/** A lane with one campaign of so many accepted recipients; a request's id is `r` and its claim's number. */
async function accepted(name: string, recipients: number, change = {}) {
  const lane = laneFixture(redis, prefix, name, { ...NOTIFIED, ...change });
  await lane.campaign('c', recipients);
  const claims = await lane.claim(START, recipients);
  await lane.settle(claims, 'accepted', START + 100);
  const { followed: due, isIndexed } = lane.stored;
  const reports = (claim: SendClaim, letters: string) => ({
    requestId: `r${claim.number}`,
    located: { campaign: claim.campaign, first: claim.first, count: claim.count },
    letters,
  });
  return { lane, claims, due, isIndexed, reports };
}

type Lane = ReturnType<typeof laneFixture>;

function nth<Item>(items: readonly Item[], at: number): Item {
  const item = items[at];
  if (item === undefined) throw new Error(`there is no number ${at}`);
  return item;
}

test('An accepted request is found by its id, with its first ordinal and its number of recipients', async () => {
  const { lane, claims } = await accepted('find', 5, { maxRecipients: 2 });
  expect(await lane.notifications.locate(['r1', 'r2', 'r3', 'other'])).toEqual([
    { campaign: 'c', first: 0, count: 2 },
    { campaign: 'c', first: 2, count: 2 },
    { campaign: 'c', first: 4, count: 1 },
    null,
  ]);
  expect(claims).toHaveLength(3);
});

test('A request that a notification completes is not polled any more and leaves the index', async () => {
  const { lane, claims, due, isIndexed, reports } = await accepted('finish', 2);
  const done = await lane.notifications.settle([reports(nth(claims, 0), 'T')], [], START + 200);
  expect(done).toMatchObject({ changed: 1, nowKnown: [], waiting: 0 });
  expect(await due()).toEqual(['c:1']);
  expect([await isIndexed('r1'), await isIndexed('r2')]).toEqual([false, true]);
  const polls = await lane.poll(START + 60_000, 5);
  expect(polls.map(({ first }) => first)).toEqual([1]);
});

test('The last report of a campaign completes it', async () => {
  const { lane, claims, reports } = await accepted('end', 1);
  const { events } = await lane.notifications.settle([reports(nth(claims, 0), 'I')], [], START + 200);
  expect(events).toEqual([
    { type: 'ended', campaign: 'c', state: 'completed', recipientCount: 1, tookMs: 200 },
  ]);
  expect(await lane.state('c')).toMatchObject({ state: 'completed', counts: { deliveryImpossible: 1 } });
});

test('A request of several recipients is polled until the last of them is final', async () => {
  const { lane, claims, due, reports } = await accepted('several', 3, { maxRecipients: 3 });
  await lane.notifications.settle([reports(nth(claims, 0), 'T-I')], [], START + 200);
  expect(await due()).toEqual(['c:0']);
  await lane.notifications.settle([reports(nth(claims, 0), '-T-')], [], START + 300);
  expect(await due()).toEqual([]);
});

test('A repeated report changes nothing, and a contradiction of a final status is counted and emitted', async () => {
  const { lane, claims, reports } = await accepted('contradicted', 1);
  const report = reports(nth(claims, 0), 'T');
  await lane.notifications.settle([report], [], START + 200);
  expect(
    (await lane.notifications.settle([report, reports(nth(claims, 0), 'N')], [], START + 210)).changed,
  ).toBe(0);
  const { events } = await lane.notifications.settle([reports(nth(claims, 0), 'I')], [], START + 220);
  expect(events).toEqual([
    {
      type: 'contradicted',
      campaign: 'c',
      ordinal: 0,
      kept: 'deliveredToTerminal',
      ignored: 'deliveryImpossible',
    },
  ]);
  expect(await lane.state('c')).toMatchObject({ contradictions: 1, counts: { deliveredToTerminal: 1 } });
});

test('A report of another request than the recorded one changes nothing', async () => {
  const { lane, claims, reports, due } = await accepted('stale', 1);
  const other = { ...reports(nth(claims, 0), 'T'), requestId: 'other' };
  expect((await lane.notifications.settle([other], [], START + 200)).changed).toBe(0);
  const longer = reports(nth(claims, 0), 'TT');
  expect((await lane.notifications.settle([longer], [], START + 200)).changed).toBe(0);
  expect(await due()).toEqual(['c:0']);
});

test('A report that comes before its request is known waits, and the script says when the request is known by now', async () => {
  const lane = laneFixture(redis, prefix, 'early', NOTIFIED);
  await lane.campaign('c', 1);
  const claims = await lane.claim();
  const early = { requestId: 'r1', sender: 'ACME', letters: { '358401234567': 'T' } };
  expect(await lane.notifications.settle([], [early], START + 10)).toMatchObject({
    waiting: 1,
    nowKnown: [],
  });
  const [waiting] = await lane.notifications.waiting();
  expect(waiting).toMatchObject({ ...early, receivedAt: START + 10 });
  await lane.settle(claims, 'accepted', START + 100);
  expect((await lane.notifications.settle([], [early], START + 110)).nowKnown).toEqual(['r1']);
  const located = { campaign: 'c', first: 0, count: 1 };
  const done = await lane.notifications.settle([{ requestId: 'r1', located, letters: 'T' }], [], START + 120);
  expect(done).toMatchObject({ changed: 1, waiting: 0 });
});

test('Reports that began to wait after the others were read are not dropped with them', async () => {
  const lane = laneFixture(redis, prefix, 'grown', NOTIFIED);
  await lane.campaign('c', 1);
  const claims = await lane.claim();
  const say = (letter: string) =>
    lane.notifications.settle(
      [],
      [{ requestId: 'r1', sender: null, letters: { '358401234567': letter } }],
      START,
    );
  const read = async () => nth(await lane.notifications.waiting(), 0).stored;
  const located = { campaign: 'c', first: 0, count: 1 };
  await say('N');
  const before = await read();
  await say('T');
  await lane.settle(claims, 'accepted', START + 100);
  const outdated = { requestId: 'r1', located, letters: 'N', stored: before };
  expect(await lane.notifications.settle([outdated], [], START + 110)).toMatchObject({
    changed: 0,
    waiting: 1,
  });
  const now = { requestId: 'r1', located, letters: 'N', stored: await read() };
  expect(await lane.notifications.settle([now], [], START + 120)).toMatchObject({ waiting: 0 });
});

test('Waiting reports of one request are merged: a final status replaces others, and the first of two is kept', async () => {
  const lane = laneFixture(redis, prefix, 'together', NOTIFIED);
  const say = (letters: Record<string, string>, sender: string | null = null) =>
    lane.notifications.settle([], [{ requestId: 'x', sender, letters }], START);
  await say({ '1001': 'N', '1002': 'T' });
  await say({ '1001': 'T', '1003': 'I' }, 'ACME');
  await say({ '1001': 'I', '1002': 'N' });
  expect(await lane.notifications.waiting()).toMatchObject([
    { requestId: 'x', sender: 'ACME', letters: { '1001': 'T', '1002': 'T', '1003': 'I' }, receivedAt: START },
  ]);
});

test('Waiting reports expire', async () => {
  const lane = laneFixture(redis, prefix, 'old', NOTIFIED);
  await lane.notifications.settle([], [{ requestId: 'x', sender: null, letters: { '1001': 'T' } }], START);
  expect((await lane.notifications.settle([], [], START + NOTIFIED.early - 1)).waiting).toBe(1);
  expect((await lane.notifications.settle([], [], START + NOTIFIED.early)).waiting).toBe(0);
  expect(await lane.stored.waitingReports()).toEqual({ ids: [], texts: 0 });
});

test('At most 10,000 requests wait: reports that are not final are discarded, and final ones replace the oldest', async () => {
  const lane = laneFixture(redis, prefix, 'full', NOTIFIED);
  const some = (from: number, count: number, letter: string) =>
    Array.from({ length: count }, (_, at) => ({
      requestId: `x${from + at}`,
      sender: null,
      letters: { '1001': letter },
    }));
  for (let from = 0; from < 10_000; from += 500) {
    await lane.notifications.settle([], some(from, 500, 'N'), START + from);
  }
  expect(await lane.notifications.settle([], some(10_000, 3, 'N'), START + 10_000)).toMatchObject({
    waiting: 10_000,
    discarded: 3,
  });
  expect(await lane.notifications.settle([], some(20_000, 2, 'T'), START + 10_001)).toMatchObject({
    waiting: 10_000,
    discarded: 2,
  });
  const waiting = await lane.notifications.waiting();
  expect(waiting.slice(0, 1).map(({ requestId }) => requestId)).toEqual(['x10']);
  expect(waiting.filter(({ letters }) => letters['1001'] === 'T')).toHaveLength(2);
});

test('A final report after the deadline still replaces `unconfirmed`', async () => {
  const { lane, claims, isIndexed, reports } = await accepted('late', 1);
  const now = START + lane.rules.deadline + 60_000;
  const polls = await lane.poll(now);
  await lane.settlePolls(polls, 'infos', now, { letters: 'N', requestId: 'r1' });
  expect(await lane.state('c')).toMatchObject({ state: 'completed', counts: { unconfirmed: 1 } });
  expect(await isIndexed('r1')).toBe(true);
  await lane.notifications.settle([reports(nth(claims, 0), 'T')], [], now + 1);
  expect(await lane.state('c')).toMatchObject({
    state: 'completed',
    counts: { unconfirmed: 0, deliveredToTerminal: 1 },
  });
  expect(await isIndexed('r1')).toBe(false);
});

test('Removing a campaign removes its requests from the index', async () => {
  const { lane, isIndexed } = await accepted('removed', 2);
  const now = START + lane.rules.deadline + 60_000;
  const polls = await lane.poll(now, 2);
  await lane.settlements.poll(
    polls.map((claim) => ({ claim, result: 'missing', requestId: `r${claim.first + 1}` }) as const),
    0,
    now,
  );
  expect([await isIndexed('r1'), await isIndexed('r2')]).toEqual([true, true]);
  await removeCampaign(redis, lane.keys, 'removed', 'c');
  expect([await isIndexed('r1'), await isIndexed('r2')]).toEqual([false, false]);
  const names = (await keysOf(redis, prefix)).filter((key) => key.includes(':removed}'));
  expect(names.filter((name) => /campaign:c|requests/.test(name))).toEqual([]);
});

test('A poll that completes a request removes it from the index', async () => {
  const { lane, isIndexed } = await accepted('polled', 1);
  const now = START + 60_000;
  const [claim] = await lane.poll(now);
  if (claim === undefined) throw new Error('nothing was due');
  await lane.settlePolls(claim, 'infos', now, { letters: 'T', requestId: 'r1' });
  expect(await isIndexed('r1')).toBe(false);
});

test('Every accepted id is recognised for as long as its campaign is kept, and almost no other id is', async () => {
  const { lane } = await accepted('ever', 500);
  const own = Array.from({ length: 500 }, (_, at) => `r${at + 1}`);
  const others = Array.from({ length: 1_000 }, (_, at) => `other-${at}`);
  expect((await lane.matches.everAccepted(own)).size).toBe(500);
  expect((await lane.matches.everAccepted(others)).size).toBeLessThanOrEqual(2);
});

test('An unknown outcome is matched to one request at a time, which is polled, until the match is cleared', async () => {
  const lane = laneFixture(redis, prefix, 'match', NOTIFIED);
  await lane.campaign('c', 1);
  const claims = await lane.claim();
  await lane.settlements.send(
    claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const),
    0,
    START + 100,
  );
  const batch = { number: 1, campaign: 'c', first: 0 };
  const early = { requestId: 'x', sender: 'ACME', letters: { '1001': 'N' } };
  expect((await lane.notifications.settle([], [early], START + 200)).unknownOutcomes).toBe(1);
  expect(await lane.matches.match({ ...batch, requestId: 'x' }, START + 300)).toBe(true);
  expect(await lane.matches.match({ ...batch, requestId: 'y' }, START + 300)).toBe(false);
  expect(await lane.matches.match({ ...batch, first: 7, requestId: 'x' }, START + 300)).toBe(false);
  expect((await lane.commands.unknown()).map(({ matchedRequestId }) => matchedRequestId)).toEqual(['x']);
  const polls = await lane.poll(START + 300);
  expect(polls.map(({ campaign, first }) => [campaign, first])).toEqual([['c', 0]]);

  await lane.matches.clear({ ...batch, requestId: 'x' });
  expect((await lane.commands.unknown()).map(({ matchedRequestId }) => matchedRequestId)).toEqual([null]);
  expect((await lane.notifications.settle([], [], START + 400)).waiting).toBe(0);
  const [claim] = polls;
  if (claim === undefined) throw new Error('nothing was due');
  await lane.settlePolls(claim, 'missing', START + 400, { requestId: 'x' });
  expect(await lane.stored.followed()).toEqual([]);
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 1 });
});

test.each([
  ['`resolve`', (lane: Lane, claim: SendClaim) => lane.commands.resolve('abandon', 'given up', [claim])],
  [
    'the worker that sent it',
    (lane: Lane, claim: SendClaim) =>
      lane.settlements.send([{ claim, result: 'accepted', letters: 'T', requestId: 'x' }], 0, START + 400),
  ],
])('A matched batch that is settled by %s is not polled any more', async (_, settle) => {
  const name = `settled-${_.length}`;
  const lane = laneFixture(redis, prefix, name, NOTIFIED);
  await lane.campaign('c', 1);
  const claims = await lane.claim();
  const claim = nth(claims, 0);
  await lane.settle(claim, 'unknown', START + 100, { reason: 'no answer' });
  await lane.matches.match({ ...claim, requestId: 'x' }, START + 300);
  await settle(lane, claim);
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 0 });
  expect(await lane.stored.followed()).toEqual([]);
});

test('While notifications come, requests are first polled later, and then less often', async () => {
  const lane = laneFixture(redis, prefix, 'patient', NOTIFIED);
  await lane.campaign('c', 3);
  const due = async (which: 'first' | 'again', first: number) =>
    (await lane.stored.polls())[which][`c:${first}`];
  const accept = async (_call: number, now: number) => {
    const claims = await lane.claim(now);
    await lane.settle(claims, 'accepted', now);
  };
  await accept(1, START);
  expect(await due('first', 0)).toBe(START + 15_000);
  await lane.notifications.settle(
    [],
    [{ requestId: 'x', sender: null, letters: { '1001': 'N' } }],
    START + 100,
  );
  await accept(2, START + 200);
  expect(await due('first', 1)).toBe(START + 200 + 150_000);

  const later = START + 200_000;
  const polls = await lane.poll(later, 2);
  await lane.settlePolls(polls, 'infos', later, { letters: 'N', requestId: 'r' });
  expect(await due('again', 0)).toBe(later + 200_000);

  const silent = START + 100 + NOTIFIED.heard;
  await accept(3, silent);
  expect(await due('first', 2)).toBeLessThan(silent + 150_000);
});

test('A lane without notifications stores nothing for them', async () => {
  const lane = laneFixture(redis, prefix, 'off');
  await lane.campaign('c', 3);
  const claims = await lane.claim(START, 3);
  await lane.settle(claims, 'accepted', START + 100);
  const names = (await keysOf(redis, prefix)).filter((key) => key.includes(':off}'));
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => /requests|accepted|early|waiting|callback/.test(name))).toEqual([]);
});

test('The oldest send in flight has a time, unless its claim was replayed after a data loss', async () => {
  const lane = laneFixture(redis, prefix, 'since', NOTIFIED);
  expect(await lane.matches.oldestSend()).toBe(Number.POSITIVE_INFINITY);
  await lane.campaign('c', 3);
  const claim = (_call: number, now: number) => lane.ask(now);
  await claim(1, START);
  await claim(2, START + 10);
  expect(await lane.matches.oldestSend()).toBe(START);
  const forgotten = {
    campaign: 'c',
    first: 2,
    count: 1,
    at: START + 20,
    turn: 'reasserted',
    call: 0,
    epoch: -1,
  };
  await lane.stored.setClaims({ 3: forgotten });
  expect(await lane.matches.oldestSend()).toBe(0);
});

test('The lane’s policy does not resolve a matched batch until the service has answered the poll', async () => {
  const lane = laneFixture(redis, prefix, 'policy', { ...NOTIFIED, resolveAfter: 60_000 });
  await lane.campaign('c', 1);
  const claims = await lane.claim();
  const unknown = claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const);
  await lane.settlements.send(unknown, 0, START + 100);
  const match = { number: 1, campaign: 'c', first: 0, requestId: 'x' };
  const resolvable = async () => (await lane.views.tend(1_000, START + 61_000)).resolvable.length;
  expect(await resolvable()).toBe(1);
  await lane.matches.match(match, START + 200);
  expect(await resolvable()).toBe(0);
  const off = laneFixture(redis, prefix, 'policy', { resolveAfter: 60_000 });
  expect((await off.views.tend(1_000, START + 61_000)).resolvable).toHaveLength(1);
  await lane.matches.clear(match);
  expect(await resolvable()).toBe(1);
});
