import { expect, test } from 'vitest';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('claims');
const accepted = (claim: SendClaim) =>
  ({ claim, result: 'accepted', letters: 'N'.repeat(claim.count), requestId: `r${claim.number}` }) as const;

test('A claim takes the next recipients in order and says when none are left', async () => {
  const lane = laneFixture(redis, prefix, 'order');
  await lane.campaign('c', 3);
  const reply = await lane.claims.send({ turn: 't', call: 1, want: 5, seen: 0, now: START });
  expect(reply.claims.map(({ first, count }) => [first, count])).toEqual([
    [0, 1],
    [1, 1],
    [2, 1],
  ]);
  expect(reply.why).toBe('nothing');
  expect((await lane.state('c')).counts).toMatchObject({ planned: 0, sending: 3 });
});

test('A repeated claim call returns the same claims and takes no more', async () => {
  const lane = laneFixture(redis, prefix, 'again');
  await lane.campaign('c', 10);
  const call = { turn: 't', call: 1, want: 4, seen: 0, now: START };
  const first = await lane.claims.send(call);
  const again = await lane.claims.send(call);
  expect(again.claims.map(({ number }) => number).sort()).toEqual(
    first.claims.map(({ number }) => number).sort(),
  );
  expect((await lane.state('c')).counts['sending']).toBe(4);
});

test('A turn is refused once another has followed it, and so is an older call of the same turn', async () => {
  const lane = laneFixture(redis, prefix, 'fenced');
  await lane.campaign('c', 10);
  await lane.claims.send({ turn: 'old', call: 1, want: 1, seen: 0, now: START });
  await lane.claims.send({ turn: 'new', call: 1, want: 1, seen: 0, now: START });
  await lane.claims.send({ turn: 'new', call: 2, want: 1, seen: 0, now: START });
  expect((await lane.claims.send({ turn: 'old', call: 2, want: 1, seen: 0, now: START })).why).toBe('fenced');
  expect((await lane.claims.send({ turn: 'new', call: 1, want: 1, seen: 0, now: START })).why).toBe('fenced');
});

test('A permit returns an hour after its response', async () => {
  const lane = laneFixture(redis, prefix, 'window', { quota: 10, pollShare: 0, inFlight: 100 });
  await lane.campaign('c', 100);
  const first = await lane.claims.send({ turn: 't', call: 1, want: 50, seen: 0, now: START });
  expect(first.claims).toHaveLength(10);
  const final = first.claims.map((claim) => ({ ...accepted(claim), letters: 'T' }));
  await lane.settlements.send(final, 0, START + 20_000);
  const early = await lane.claims.send({ turn: 't', call: 2, want: 50, seen: 0, now: START + 3_600_000 });
  expect(early.claims).toHaveLength(0);
  expect(early.why).toBe('quota');
  const late = START + 3_600_000 + (early.againInMs ?? 0);
  expect(late).toBeGreaterThan(START + 3_620_000);
  expect(late).toBeLessThan(START + 3_640_000);
  const more = await lane.claims.send({ turn: 't', call: 3, want: 50, seen: 0, now: late });
  expect(more.claims).toHaveLength(10);
});

test('A refused batch is halved until the bad recipient is alone, and all others are sent', async () => {
  const lane = laneFixture(redis, prefix, 'halves', { maxRecipients: 8 });
  await lane.campaign('c', 8);
  let call = 0;
  for (;;) {
    call += 1;
    const { claims } = await lane.claims.send({ turn: 't', call, want: 1, seen: 0, now: START });
    const [claim] = claims;
    if (claim === undefined) break;
    const isBad = claim.first <= 5 && 5 < claim.first + claim.count;
    await lane.settlements.send(
      [isBad ? { claim, result: 'refused', reason: 'no such number' } : accepted(claim)],
      0,
      START,
    );
  }
  expect((await lane.state('c')).counts).toMatchObject({
    rejected: 1,
    deliveredToNetwork: 7,
    planned: 0,
    sending: 0,
  });
  expect(await lane.stored.letters('c')).toBe('NNNNNRNN');
});

test('After a 429, the whole lane backs off, and then one request probes the service', async () => {
  const lane = laneFixture(redis, prefix, 'probe');
  await lane.campaign('c', 50);
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want: 4, seen: 0, now: START });
  await lane.settlements.send(
    claims.map((claim) => ({ claim, result: 'throttled', retryAfterMs: 60_000 }) as const),
    0,
    START + 100,
  );
  expect((await lane.state('c')).counts).toMatchObject({ planned: 50, sending: 0 });
  const refused = await lane.claims.send({ turn: 't', call: 2, want: 4, seen: 0, now: START + 1_000 });
  expect([refused.why, refused.claims]).toEqual(['throttled', []]);
  const probeAt = START + 1_000 + (refused.againInMs ?? 0);
  const probe = await lane.claims.send({ turn: 't', call: 3, want: 4, seen: 0, now: probeAt });
  expect(probe.claims).toHaveLength(1);
  const other = await lane.claims.send({ turn: 't', call: 4, want: 4, seen: 0, now: probeAt + 10 });
  expect([other.why, other.claims]).toEqual(['probing', []]);
  await lane.settlements.send(probe.claims.map(accepted), 0, probeAt + 20);
  const open = await lane.claims.send({ turn: 't', call: 5, want: 4, seen: 0, now: probeAt + 30 });
  expect(open.claims).toHaveLength(4);
});

test('A campaign behind a huge one is served at once, and one of high priority is served more often', async () => {
  const lane = laneFixture(redis, prefix, 'fair', { quota: 10_000, inFlight: 1000 });
  await lane.campaign('huge', 100_000);
  await lane.claims.send({ turn: 't', call: 1, want: 200, seen: 0, now: START });
  await lane.campaign('small', 3);
  await lane.campaign('high', 100_000, { weight: 4 });
  const { claims } = await lane.claims.send({ turn: 't', call: 2, want: 100, seen: 0, now: START });
  const served = (id: string) => claims.filter(({ campaign }) => campaign === id).length;
  expect(claims.slice(0, 12).filter(({ campaign }) => campaign === 'small')).toHaveLength(3);
  expect(served('high')).toBeGreaterThan(3 * served('huge'));
  expect(served('huge')).toBeGreaterThan(0);
});

test('A campaign whose only request is released again and again does not take the turns of others', async () => {
  const lane = laneFixture(redis, prefix, 'returning');
  await lane.campaign('large', 100);
  let call = 0;
  const next = async (): Promise<SendClaim | undefined> => {
    call += 1;
    return (await lane.claims.send({ turn: 't', call, want: 1, seen: 0, now: START })).claims[0];
  };
  for (let turn = 0; turn < 10; turn += 1) {
    const claim = await next();
    if (claim !== undefined) await lane.settlements.send([accepted(claim)], 0, START);
  }
  await lane.campaign('single', 1);
  const served: string[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    const claim = await next();
    if (claim === undefined) break;
    served.push(claim.campaign);
    const entry =
      claim.campaign === 'single' ? { claim, result: 'unauthorised' as const, reason: '' } : accepted(claim);
    await lane.settlements.send([entry], 0, START);
  }
  expect(served[0]).toBe('single');
  expect(served.filter((id) => id === 'large')).toHaveLength(5);
});

test('A claimed poll moves its due time forward, and the follow-up ends when all statuses are final', async () => {
  const lane = laneFixture(redis, prefix, 'poll');
  await lane.campaign('c', 1);
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want: 1, seen: 0, now: START });
  await lane.settlements.send(claims.map(accepted), 0, START);
  const none = await lane.claims.poll({ turn: 'p', call: 1, want: 5, seen: 0, now: START + 1_000 });
  expect([none.why, none.againInMs]).toEqual(['nothing', 14_000]);
  const due = await lane.claims.poll({ turn: 'p', call: 2, want: 5, seen: 0, now: START + 15_000 });
  expect(due.claims).toHaveLength(1);
  const taken = await lane.claims.poll({ turn: 'p', call: 3, want: 5, seen: 0, now: START + 15_001 });
  expect(taken.claims).toHaveLength(0);
  const settled = await lane.settlements.poll(
    due.claims.map((claim) => ({ claim, result: 'infos', letters: 'T' }) as const),
    0,
    START + 15_100,
  );
  expect(settled.events.map(({ type }) => type)).toContain('ended');
  expect(await lane.state('c')).toMatchObject({ state: 'completed', counts: { deliveredToTerminal: 1 } });
});

test('A burst of first polls that all came too early delays the next first poll by one step, not by one step each', async () => {
  const lane = laneFixture(redis, prefix, 'patience', { quota: 1_000 });
  await lane.campaign('c', 61);
  const early = START + 15_000;
  for (const [call, now] of [START, START, early].entries()) {
    const want = call < 2 ? 30 : 1;
    if (call === 2) await pollTooEarly(60);
    const { claims } = await lane.claims.send({ turn: 't', call: call + 1, want, seen: 0, now });
    expect(claims).toHaveLength(want);
    await lane.settlements.send(claims.map(accepted), 0, now);
  }
  const { why, againInMs } = await lane.claims.poll({ turn: 'p', call: 9, want: 5, seen: 0, now: early });
  // The requests polled too early are due again after 15 s, the new one after 15 s × 1.2.
  expect([why, againInMs]).toEqual(['nothing', 15_000]);
  expect(await lane.stored.firstPollMs()).toBe(18_000);

  async function pollTooEarly(count: number): Promise<void> {
    for (let call = 1; count > 0; call++) {
      const { claims } = await lane.claims.poll({ turn: 'p', call, want: 30, seen: 0, now: early });
      expect(claims.length).toBeGreaterThan(0);
      const entries = claims.map((claim) => ({ claim, result: 'infos', letters: 'N' }) as const);
      await lane.settlements.poll(entries, 0, early);
      count -= claims.length;
    }
  }
});

test('An overdue claim becomes unknown, and its owner can still settle it', async () => {
  const lane = laneFixture(redis, prefix, 'overdue');
  await lane.campaign('c', 2);
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want: 2, seen: 0, now: START });
  expect((await lane.views.tend(1e9, START + 30_000)).overdueSends).toHaveLength(0);
  const { overdueSends } = await lane.views.tend(1e9, START + 36_000);
  expect(overdueSends).toHaveLength(2);
  await lane.settlements.send(
    overdueSends.map((claim) => ({ claim, result: 'unknown', reason: 'gone', overdue: true }) as const),
    0,
    START + 36_000,
  );
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 2, sending: 0 });
  const [first] = claims;
  if (first === undefined) throw new Error('nothing was claimed');
  await lane.settlements.send([accepted(first)], 0, START + 37_000);
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 1, deliveredToNetwork: 1 });
  const early = await lane.commands.resolve('resend', 'x', await lane.commands.unknown(), START + 38_000);
  expect(early).toMatchObject({ batches: 0, tooEarly: 1 });
  const later = await lane.commands.resolve('resend', 'x', await lane.commands.unknown(), START + 70_000);
  expect(later).toMatchObject({ batches: 1, recipients: 1 });
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 0, planned: 1 });
  expect((await lane.views.look(START + 70_000)).sendAt).toBe(START + 70_000);
});

test('Campaigns that must not be claimed from yet do not delay the ones behind them, however many they are', async () => {
  const lane = laneFixture(redis, prefix, 'not-open');
  await lane.campaign('old', 100);
  const first = await lane.claims.send({ turn: 't', call: 1, want: 10, seen: 0, now: START });
  expect(first.claims).toHaveLength(10);
  for (let at = 0; at < 200; at += 1) await lane.campaign(`n${at}`, 1, { notBefore: START + 2_000 });
  const { claims } = await lane.claims.send({ turn: 't', call: 2, want: 10, seen: 0, now: START + 1_000 });
  expect(claims.map(({ campaign }) => campaign)).toEqual(Array.from({ length: 10 }, () => 'old'));
  const later = await lane.claims.send({ turn: 't', call: 3, want: 10, seen: 0, now: START + 2_000 });
  expect(later.claims.every(({ campaign }) => campaign !== 'old')).toBe(true);
});
