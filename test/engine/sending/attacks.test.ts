import { expect, test } from 'vitest';
import { recordsKey } from '../../../src/engine/recipients/campaign-keys.js';
import { replayClaim } from '../../../src/engine/recovery/replay-claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('attacks');
const HOUR = 3_600_000;

test('A settlement whose number now belongs to another batch is not applied to that batch', async () => {
  const lane = laneFixture(redis, prefix, 'other-batch');
  await lane.campaign('c', 5);
  const claims = await lane.claim(START, 2);
  const [first, second] = claims;
  if (first === undefined || second === undefined) throw new Error('nothing was claimed');
  const mistaken = await lane.settle({ ...second, number: first.number }, 'accepted', START + 1);
  expect(mistaken.settled).toBe(0);
  expect((await lane.state('c')).counts).toMatchObject({ sending: 2 });
});

test.each([1, 2, 3, 4, 7, 9])(
  'A lane of %i requests a window sends and polls in turn, and never blocks itself',
  async (quota) => {
    const lane = laneFixture(redis, prefix, `small-${quota}`, { quota });
    await lane.campaign('c', 1_000);
    let [now, sends, polls, idle] = [START, 0, 0, 0];
    for (let step = 0; step < 60; step += 1) {
      const send = await lane.ask(now, 32);
      await lane.settle(send.claims, 'accepted', now);
      const polled = await lane.poll(now, 32);
      await lane.settlePolls(polled, 'infos', now, { letters: 'N' });
      [sends, polls] = [sends + send.claims.length, polls + polled.length];
      idle = send.claims.length + polled.length === 0 ? idle + 1 : 0;
      now += HOUR / 4;
      expect(idle).toBeLessThan(8);
    }
    const windows = 60 / 4;
    expect(sends + polls).toBeGreaterThanOrEqual(quota * windows * 0.75);
    expect(polls).toBeGreaterThanOrEqual(windows / 3);
    expect(sends).toBeGreaterThanOrEqual(windows / 3);
  },
);

test('A lane of one request a window keeps sending when no worker polls', async () => {
  const lane = laneFixture(redis, prefix, 'no-poller', { quota: 1 });
  await lane.campaign('c', 100);
  let sends = 0;
  for (let step = 0; step < 40; step += 1) {
    const now = START + (step * HOUR) / 4;
    const claims = await lane.claim(now);
    await lane.settle(claims, 'accepted', now);
    sends += claims.length;
  }
  expect(sends).toBeGreaterThanOrEqual(4);
});

test('A lane whose worker was killed with all its requests in flight is served again at once', async () => {
  const lane = laneFixture(redis, prefix, 'killed', { quota: 1_000 });
  await lane.campaign('c', 1_000);
  const before = await lane.claims.send({ turn: 'a', call: 1, want: 32, seen: 0, now: START });
  await lane.settle(before.claims, 'accepted', START + 50, { letter: 'T' });
  const lost = await lane.claims.send({ turn: 'a', call: 2, want: 32, seen: 0, now: START + 60 });
  expect(lost.claims).toHaveLength(32);
  const next = await lane.claims.send({ turn: 'b', call: 1, want: 32, seen: 0, now: START + 11_000 });
  expect(next.claims).toHaveLength(32);
  // A third turn gets none: requests of killed workers do not pile up.
  const third = await lane.claims.send({ turn: 'c', call: 1, want: 32, seen: 0, now: START + 11_100 });
  expect(third.claims).toHaveLength(0);
});

test('An old claim is not confirmed once its campaign is paused, nor is a poll that was settled as overdue', async () => {
  const lane = laneFixture(redis, prefix, 'confirm');
  await lane.campaign('c', 2);
  const claims = await lane.claim(START, 2);
  const [one, two] = claims;
  if (one === undefined || two === undefined) throw new Error('nothing was claimed');
  expect(await lane.claims.confirm(one)).toBe(true);
  expect(await lane.claims.confirm({ ...one, turn: 'u' })).toBe(false);
  await lane.settle(one, 'accepted', START);
  const poll = await lane.claims.poll({ turn: 'p', call: 1, want: 1, seen: 0, now: START + 15_000 });
  const [asked] = poll.claims;
  if (asked === undefined) throw new Error('nothing was due');
  expect(await lane.claims.confirmPoll(asked)).toBe(true);
  await lane.settlePolls(asked, 'unanswered', START + 60_000, { overdue: true });
  expect(await lane.claims.confirmPoll(asked)).toBe(false);
  await lane.commands.campaign('pause', 'c');
  expect(await lane.claims.confirm(two)).toBe(false);
});

test('A poll of a removed request does not reopen a lane that backs off and spends no permit', async () => {
  const lane = laneFixture(redis, prefix, 'gone');
  await lane.campaign('c', 3);
  const claims = await lane.claim(START, 2);
  const [one, two] = claims;
  if (one === undefined || two === undefined) throw new Error('nothing was claimed');
  await lane.settle(one, 'accepted', START);
  await lane.settle(two, 'throttled', START, { retryAfterMs: 1_000 });
  const now = START + 60_000;
  const poll = await lane.claims.poll({ turn: 'p', call: 1, want: 5, seen: 0, now });
  expect(poll.claims).toHaveLength(1);
  await redis.unlink(recordsKey(lane.keys, lane.lane, 'c', one.first));
  await lane.settlePolls(poll.claims, 'gone', now + 1);
  const view = await lane.views.look(now + 2);
  expect([view.closed[0]?.cause, view.polls, view.awaiting]).toEqual(['throttled', 0, 0]);
  const probe = await lane.ask(now + 3, 5);
  expect(probe.claims).toHaveLength(1);
});

test('One command resolves hundreds of batches with unknown outcomes', async () => {
  const lane = laneFixture(redis, prefix, 'many', { inFlight: 9_000, quota: 100_000 });
  await lane.campaign('c', 8_500);
  const all: SendClaim[] = [];
  for (let call = 1; call <= 17; call += 1) {
    const claims = await lane.claim(START, 500);
    all.push(...claims);
  }
  expect(all).toHaveLength(8_500);
  for (let from = 0; from < all.length; from += 500) {
    await lane.settle(all.slice(from, from + 500), 'unknown', START + 40_000, { overdue: true });
  }
  const found = await lane.commands.unknown();
  expect(found).toHaveLength(all.length);
  const done = await lane.commands.resolve('abandon', 'x', found, START + 100_000);
  expect(done).toMatchObject({ batches: all.length, recipients: all.length });
  expect(await lane.commands.unknown()).toHaveLength(0);
});

test('Campaigns without unsent recipients do not hide the campaigns behind them', async () => {
  const lane = laneFixture(redis, prefix, 'hidden');
  for (let at = 0; at < 5; at += 1) await lane.campaign(`a${at}`, 0, { ordinals: 0 });
  await lane.campaign('z', 3);
  const reply = await lane.ask(START, 2);
  const next = reply.why === 'more' ? await lane.ask(START, 2) : reply;
  expect(next.claims).toHaveLength(2);
});

test('The late result of an overdue request applies only to the recipients that are still unknown', async () => {
  const lane = laneFixture(redis, prefix, 'late-part', { maxRecipients: 4 });
  await lane.campaign('c', 4);
  const claims = await lane.claim();
  await lane.settle(claims, 'unknown', START + 1_000, { letters: 'S---' });
  expect((await lane.state('c')).counts).toMatchObject({ suppressed: 1, unknown: 3 });
  await lane.settle(claims, 'unauthorised', START + 2_000);
  expect((await lane.state('c')).counts).toMatchObject({ suppressed: 1, unknown: 0, planned: 3 });
});

test('A released batch is not claimed again by a replay, unless Redis has lost data', async () => {
  const lane = laneFixture(redis, prefix, 'given-back');
  await lane.campaign('c', 5);
  const claim = await lane.claimOne();
  await lane.settle(claim, 'throttled', START + 1, { retryAfterMs: 1_000 });
  expect(await replayClaim(lane.store, claim, START + 2)).toBe('settled');
  const { epoch } = await lane.views.look(START + 3);
  await lane.stored.changeServer();
  expect(await replayClaim(lane.store, claim, START + 4)).toBe('restored');
  // The 429 of a minute ago does not make the lane back off again.
  await lane.settle(claim, 'throttled', START + 5, { retryAfterMs: 1_000 });
  expect((await lane.views.look(START + 6)).epoch).toBe(epoch);
  expect((await lane.state('c')).counts).toMatchObject({ planned: 5, sending: 0 });
});

test('A lane with smooth pacing continues after a backoff, even if its gap is not a whole number of milliseconds', async () => {
  const lane = laneFixture(redis, prefix, 'paced', { quota: 11, window: 60_000, smooth: true, pollShare: 0 });
  await lane.campaign('c', 100);
  for (let round = 1; round <= 5; round += 1) {
    const now = START + round * 61_000;
    const claims = await lane.claim(now, 5);
    expect(claims).toHaveLength(1);
    await lane.settle(claims, 'accepted', now, { letter: 'T' });
  }
});

test('Resending an unknown batch of a cancelled campaign abandons it, and does not count it as cancelled', async () => {
  const lane = laneFixture(redis, prefix, 'resend-cancelled');
  await lane.campaign('c', 3);
  const claims = await lane.claim();
  await lane.settle(claims, 'unknown', START + 1);
  await lane.commands.campaign('cancel', 'c', undefined, START + 2);
  await lane.commands.resolve('resend', 'x', await lane.commands.unknown(), START + 120_000);
  expect(await lane.state('c')).toMatchObject({
    state: 'cancelled',
    counts: { cancelled: 2, abandoned: 1, unknown: 0 },
  });
  expect((await lane.state('c'))['endedAt']).toBe(START + 120_000);
});

test('The placeholder claims of a cancelled campaign keep no other campaign waiting', async () => {
  const lane = laneFixture(redis, prefix, 'left-behind', { repeatFor: 86_400_000 });
  await lane.campaign('c', 40);
  const claims = await lane.claim(START, 32);
  await lane.settle(claims.slice(31), 'accepted', START + 100);
  await lane.settle(claims.slice(0, 31), 'unknown', START + 200, { overdue: true });
  await lane.campaign('d', 40);
  await lane.commands.campaign('cancel', 'c', undefined, START + 300);
  const reply = await lane.ask(START + 5_000, 32);
  expect(reply.claims).toHaveLength(32);
});
