import { expect, test } from 'vitest';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('claims');
test('A claim takes the next recipients in order and says when none are left', async () => {
  const lane = laneFixture(redis, prefix, 'order');
  await lane.campaign('c', 3);
  const reply = await lane.ask(START, 5);
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
  const first = await lane.ask(START, 50);
  expect(first.claims).toHaveLength(10);
  await lane.settle(first.claims, 'accepted', START + 20_000, { letter: 'T' });
  const early = await lane.ask(START + 3_600_000, 50);
  expect(early.claims).toHaveLength(0);
  expect(early.why).toBe('quota');
  const late = START + 3_600_000 + (early.againInMs ?? 0);
  expect(late).toBeGreaterThan(START + 3_620_000);
  expect(late).toBeLessThan(START + 3_640_000);
  const more = await lane.ask(late, 50);
  expect(more.claims).toHaveLength(10);
});

test('A refused batch is halved until the bad recipient is alone, and all others are sent', async () => {
  const lane = laneFixture(redis, prefix, 'halves', { maxRecipients: 8 });
  await lane.campaign('c', 8);
  for (;;) {
    const claims = await lane.claim();
    const [claim] = claims;
    if (claim === undefined) break;
    const isBad = claim.first <= 5 && 5 < claim.first + claim.count;
    await lane.settle(claim, isBad ? 'refused' : 'accepted', START);
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
  const claims = await lane.claim(START, 4);
  await lane.settle(claims, 'throttled', START + 100, { retryAfterMs: 60_000 });
  expect((await lane.state('c')).counts).toMatchObject({ planned: 50, sending: 0 });
  const refused = await lane.ask(START + 1_000, 4);
  expect([refused.why, refused.claims]).toEqual(['throttled', []]);
  const probeAt = START + 1_000 + (refused.againInMs ?? 0);
  const probe = await lane.ask(probeAt, 4);
  expect(probe.claims).toHaveLength(1);
  const other = await lane.ask(probeAt + 10, 4);
  expect([other.why, other.claims]).toEqual(['probing', []]);
  await lane.settle(probe.claims, 'accepted', probeAt + 20);
  const open = await lane.ask(probeAt + 30, 4);
  expect(open.claims).toHaveLength(4);
});

test('A campaign behind a huge one is served at once, and one of high priority is served more often', async () => {
  const lane = laneFixture(redis, prefix, 'fair', { quota: 10_000, inFlight: 1000 });
  await lane.campaign('huge', 100_000);
  await lane.ask(START, 200);
  await lane.campaign('small', 3);
  await lane.campaign('high', 100_000, { weight: 4 });
  const claims = await lane.claim(START, 100);
  const served = (id: string) => claims.filter(({ campaign }) => campaign === id).length;
  expect(claims.slice(0, 12).filter(({ campaign }) => campaign === 'small')).toHaveLength(3);
  expect(served('high')).toBeGreaterThan(3 * served('huge'));
  expect(served('huge')).toBeGreaterThan(0);
});

test('A campaign whose only request is released again and again does not take the turns of others', async () => {
  const lane = laneFixture(redis, prefix, 'returning');
  await lane.campaign('large', 100);
  const next = async (): Promise<SendClaim | undefined> => (await lane.claim())[0];
  for (let turn = 0; turn < 10; turn += 1) {
    const claim = await next();
    if (claim !== undefined) await lane.settle(claim, 'accepted', START);
  }
  await lane.campaign('single', 1);
  const served: string[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    const claim = await next();
    if (claim === undefined) break;
    served.push(claim.campaign);
    await lane.settle(claim, claim.campaign === 'single' ? 'unauthorised' : 'accepted', START);
  }
  expect(served[0]).toBe('single');
  expect(served.filter((id) => id === 'large')).toHaveLength(5);
});

test('A claimed poll moves its due time forward, and the follow-up ends when all statuses are final', async () => {
  const lane = laneFixture(redis, prefix, 'poll');
  await lane.campaign('c', 1);
  const claims = await lane.claim();
  await lane.settle(claims, 'accepted', START);
  const none = await lane.claims.poll({ turn: 'p', call: 1, want: 5, seen: 0, now: START + 1_000 });
  expect([none.why, none.againInMs]).toEqual(['nothing', 14_000]);
  const due = await lane.claims.poll({ turn: 'p', call: 2, want: 5, seen: 0, now: START + 15_000 });
  expect(due.claims).toHaveLength(1);
  const taken = await lane.claims.poll({ turn: 'p', call: 3, want: 5, seen: 0, now: START + 15_001 });
  expect(taken.claims).toHaveLength(0);
  const settled = await lane.settlePolls(due.claims, 'infos', START + 15_100, { letters: 'T' });
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
    await lane.settle(claims, 'accepted', now);
  }
  const { why, againInMs } = await lane.claims.poll({ turn: 'p', call: 9, want: 5, seen: 0, now: early });
  // The requests polled too early are due again after 15 s, the new one after 15 s × 1.2.
  expect([why, againInMs]).toEqual(['nothing', 15_000]);
  expect(await lane.stored.firstPollMs()).toBe(18_000);

  async function pollTooEarly(count: number): Promise<void> {
    for (let call = 1; count > 0; call++) {
      const { claims } = await lane.claims.poll({ turn: 'p', call, want: 30, seen: 0, now: early });
      expect(claims.length).toBeGreaterThan(0);
      await lane.settlePolls(claims, 'infos', early, { letters: 'N' });
      count -= claims.length;
    }
  }
});

test('An overdue claim becomes unknown, and its owner can still settle it', async () => {
  const lane = laneFixture(redis, prefix, 'overdue');
  await lane.campaign('c', 2);
  const claims = await lane.claim(START, 2);
  expect(await lane.sweep(START + 30_000)).toBe(0);
  expect(await lane.sweep(START + 36_000)).toBe(2);
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 2, sending: 0 });
  const [first] = claims;
  if (first === undefined) throw new Error('nothing was claimed');
  await lane.settle(first, 'accepted', START + 37_000);
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
  const first = await lane.ask(START, 10);
  expect(first.claims).toHaveLength(10);
  for (let at = 0; at < 200; at += 1) await lane.campaign(`n${at}`, 1, { notBefore: START + 2_000 });
  const claims = await lane.claim(START + 1_000, 10);
  expect(claims.map(({ campaign }) => campaign)).toEqual(Array.from({ length: 10 }, () => 'old'));
  const later = await lane.ask(START + 2_000, 10);
  expect(later.claims.every(({ campaign }) => campaign !== 'old')).toBe(true);
});

test('Half of a surrogate pair in a text of the service keeps back no settlement', async () => {
  const lane = laneFixture(redis, prefix, 'half-a-pair', { maxRecipients: 2 });
  await lane.campaign('c', 6);
  const [accepted, refused, unknown] = await lane.claim(START, 3);
  if (accepted === undefined || refused === undefined || unknown === undefined) throw new Error('no claims');
  const half = 'she said \ud83d, and C:\\ud83d';
  const settlements = [
    { claim: accepted, result: 'accepted' as const, letters: 'NN', words: [[1, '7,\udc4d']] as const },
    { claim: refused, result: 'refused' as const, letters: 'RR', reason: half },
    { claim: unknown, result: 'unknown' as const, reason: `${'x'.repeat(239)}😀` },
  ];
  const { settled, events } = await lane.settlements.send(settlements, 0, START);
  expect(settled).toBe(3);
  expect(await lane.stored.letters('c')).toBe('NNRRUU');
  const reason = 'she said \ufffd, and C:\\ud83d';
  expect(events).toContainEqual(expect.objectContaining({ type: 'rejected', ordinal: 2, reason }));
});
