import { describe, expect, test } from 'vitest';
import type { SendSettlement } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('resent-batches');

test('A batch sent again under its correlator keeps its recipients, even above a smaller limit per request', async () => {
  const change = { repeatFor: 86_400_000, maxRecipients: 8 };
  const lane = laneFixture(redis, prefix, 'correlator', change);
  await lane.campaign('c', 8);
  const claims = await lane.claim();
  await lane.settle(claims, 'unknown', START + 1);
  const again = await lane.ask(START + 2, 2, { maxRecipients: 4 });
  expect(again.claims.map(({ first, count }) => [first, count])).toEqual([[0, 8]]);
});

/** A lane with correlators, and a batch of two recipients that may have been accepted and will be sent again. */
async function laneWithRepeat(name: string, change: Record<string, unknown> = {}) {
  const lane = laneFixture(redis, prefix, name, { repeatFor: 86_400_000, maxRecipients: 2 });
  await lane.campaign('c', 6, change);
  const { claims } = await lane.ask();
  await lane.settle(claims, 'unknown', START + 1);
  return lane;
}

test('A batch that may have been accepted becomes unknown when its campaign is cancelled before it is sent again', async () => {
  const lane = await laneWithRepeat('repeat-cancelled');
  expect(await lane.commands.campaign('cancel', 'c')).toMatchObject({ outcome: 'done', cancelled: 4 });
  expect((await lane.state('c')).counts).toMatchObject({ cancelled: 4, sending: 2, planned: 0 });
  await lane.sweep(START + 60_000);
  expect(await lane.state('c')).toMatchObject({
    state: 'cancelled',
    endedAt: 0,
    counts: { cancelled: 4, unknown: 2, sending: 0 },
  });
  const batches = await lane.commands.unknown();
  expect(batches).toHaveLength(1);
  await lane.commands.resolve('abandon', 'x', batches, START + 60_000);
  expect((await lane.state('c'))['endedAt']).toBeGreaterThan(0);
});

test('The reason of a batch that may have been accepted is the cancellation, not a dead worker', async () => {
  const lane = await laneWithRepeat('repeat-cancelled-why');
  await lane.commands.campaign('cancel', 'c');
  const { overdueSends } = await lane.views.tend(86_400_000, START + 60_000);
  const { events } = await lane.settle(overdueSends, 'unknown', START + 60_000, { overdue: true });
  const reason = 'an earlier request may have been accepted; cancelled before it was sent again';
  expect(events).toMatchObject([{ type: 'unknown', reason, overdue: false }]);
  expect(await lane.commands.unknown()).toMatchObject([{ reason }]);
});

test('A batch that is not sent again counts its first request, and no other', async () => {
  const lane = await laneWithRepeat('repeat-uncounted');
  const spent = async (now: number) => {
    const { permitsToCome } = await lane.views.look(now);
    return permitsToCome.reduce((sum, { permits }) => sum + permits, 0);
  };
  expect((await lane.state('c'))['requests']).toMatchObject({ send: 1 });
  expect(await spent(START + 2)).toBe(1);
  await lane.commands.campaign('cancel', 'c');
  await lane.sweep(START + 60_000);
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 2, sending: 0 });
  expect((await lane.state('c'))['requests']).toMatchObject({ send: 1 });
  expect(await spent(START + 60_000)).toBe(1);
});

test.each(['tend', 'claim'])(
  'A batch that may have been accepted becomes unknown when its campaign lapses (%s)',
  async (by) => {
    const lane = await laneWithRepeat(`repeat-lapsed-${by}`, { lapseAt: START + 100 });
    await lane.stored.lapse('c', START + 100);
    if (by === 'claim') expect((await lane.ask(START + 200)).claims).toEqual([]);
    await lane.sweep(START + 200);
    expect((await lane.state('c')).counts).toMatchObject({ lapsed: 4, sending: 2 });
    await lane.sweep(START + 60_000);
    expect((await lane.state('c')).counts).toMatchObject({ lapsed: 4, unknown: 2, sending: 0 });
  },
);

test.each(['tend', 'claim'])(
  'Recipients that have lapsed stay lapsed when their campaign is cancelled (%s)',
  async (by) => {
    const name = `cancel-lapsed-${by}`;
    const lane = laneFixture(redis, `${prefix}-${name}`, name, { maxRecipients: 2 });
    await lane.campaign('c', 6, { lapseAt: START + 100 });
    await lane.stored.lapse('c', START + 100);
    const { claims } = await lane.ask();
    if (by === 'claim') await lane.ask(START + 200);
    else await lane.views.tend(86_400_000, START + 200);
    expect((await lane.state('c')).counts).toMatchObject({ lapsed: 4, sending: 2 });
    await lane.commands.campaign('cancel', 'c', undefined, START + 300);
    expect(await lane.state('c')).toMatchObject({ state: 'cancelled', remainder: 'lapsed' });
    await lane.settle(claims, 'released', START + 400);
    const { counts, endedAt } = await lane.state('c');
    expect(counts).toMatchObject({ lapsed: 6, sending: 0, cancelled: 0 });
    expect(endedAt).toBe(START + 400);
  },
);

test('A batch whose worker did not repeat it stays whole, and is repeated later', async () => {
  const lane = await laneWithRepeat('repeat-released');
  const again = await lane.ask(START + 10);
  expect(again.claims.map(({ first, count }) => [first, count])).toEqual([[0, 2]]);
  await lane.settle(again.claims, 'released', START + 20);
  const third = await lane.ask(START + 30, 1, { maxRecipients: 1 });
  expect(third.claims.map(({ first, count, again }) => [first, count, again])).toEqual([
    [0, 2, 'underCorrelator'],
  ]);
});

test.each(['throttled', 'unauthorised', 'stopped', 'notSent'] as const)(
  'A batch whose repeat was %s is repeated later, for as long as the service remembers the first request',
  async (result) => {
    const lane = await laneWithRepeat(`repeat-${result}`);
    const again = await lane.ask(START + 10);
    await lane.settle(again.claims, result, START + 20);
    await lane.commands.lane('resume');
    const { claims } = await lane.ask(START + 120_000);
    expect(claims.map(({ first, count, again: as }) => [first, count, as])).toEqual([
      [0, 2, 'underCorrelator'],
    ]);
    expect(await lane.commands.unknown()).toEqual([]);
  },
);

describe('A repeat under a correlator leaves the outcome unknown, and is neither halved nor sent again,', () => {
  const WHY = 'an earlier request may have been accepted, and its repeat was not: ';
  test.each([
    ['refused', '400', `${WHY}400`],
    ['unclear', '409', `${WHY}409`],
  ] as const)('when it is settled as %s (%s)', async (result, reason, why) => {
    const name = `repeat-${result}-${reason}`;
    const lane = await laneWithRepeat(name);
    const again = await lane.ask(START + 10);
    const isFinal = result === 'unclear';
    const { events } = await lane.settle(again.claims, result, START + 20, { reason, isFinal });
    expect(events).toContainEqual(expect.objectContaining({ type: 'unknown', reason: why }));
    expect(await lane.state('c')).toMatchObject({
      counts: { unknown: 2, planned: 4, sending: 0 },
      requests: expect.not.objectContaining({ refused: expect.anything() }),
    });
    expect(await lane.commands.unknown()).toMatchObject([{ first: 0, count: 2, reason: why }]);
    await lane.commands.lane('resume');
    const { claims } = await lane.ask(START + 120_000);
    expect(claims.map(({ first }) => first)).toEqual([2]);
  });
});

/** A batch that an operator sends again, after its outcome was unknown. */
async function resentBatch(name: string, count: number) {
  const lane = laneFixture(redis, prefix, name, { maxRecipients: count });
  await lane.campaign('c', count);
  const first = await lane.ask();
  await lane.settle(first.claims, 'unknown', START + 1);
  await lane.commands.resolve('resend', 'x', await lane.commands.unknown(), START + 120_000);
  const now = START + 120_001;
  const claims = await lane.claim(now);
  const settle = (result: 'refused' | 'unclear', details: Partial<SendSettlement> = {}) =>
    lane.settle(claims, result, now + 1, { reason: '400', ...details });
  return { ...lane, settle };
}

test('The halves of a refused batch that an operator resends may have been accepted before', async () => {
  const lane = await resentBatch('resent-halved', 4);
  await lane.settle('refused');
  await lane.commands.campaign('cancel', 'c');
  await lane.sweep(START + 240_000);
  expect((await lane.state('c')).counts).toMatchObject({ cancelled: 0, unknown: 4 });
});

test.each(['cancelled', 'lapsed'] as const)(
  'A batch that an operator resends stays unknown if it is refused after its campaign was %s, because it may have been accepted',
  async (state) => {
    const lane = await resentBatch(`resent-${state}`, 4);
    if (state === 'cancelled') await lane.commands.campaign('cancel', 'c');
    else {
      await lane.stored.changeState('c', { lapseAt: START + 120_001 });
      await lane.stored.lapse('c', START + 120_001);
      await lane.sweep(START + 120_002);
    }
    expect(await lane.state('c')).toMatchObject({ remainder: state, counts: { sending: 4 } });
    await lane.settle('refused');
    expect((await lane.state('c')).counts).toMatchObject({ [state]: 0, sending: 0, unknown: 4 });
    const reason = 'an earlier request may have been accepted, and its repeat was not: 400';
    expect(await lane.commands.unknown()).toMatchObject([{ first: 0, count: 4, reason }]);
  },
);

test('A recipient that is refused when an operator resends it is not rejected, because it may have the first message', async () => {
  const lane = await resentBatch('resent-refused', 1);
  await lane.settle('refused');
  expect((await lane.state('c')).counts).toMatchObject({ rejected: 0, unknown: 1 });
});

test('A batch that an operator resends is not halved if the service knows its correlator', async () => {
  const lane = await resentBatch('resent-known', 4);
  await lane.settle('unclear', { isFinal: true, isKnown: true, letters: '----' });
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 4, planned: 0 });
});

test('A batch that may have been accepted becomes unknown, not suppressed, when all its recipients are suppressed by now', async () => {
  const lane = await laneWithRepeat('repeat-suppressed');
  const again = await lane.ask(START + 10);
  await lane.settle(again.claims, 'suppressed', START + 20);
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 2, planned: 4 });
});

test('A batch is not sent again under its correlator when some of its recipients are suppressed by now', async () => {
  const lane = await laneWithRepeat('repeat-divided');
  const again = await lane.ask(START + 10);
  await lane.settle(again.claims, 'partlySuppressed', START + 20, { letters: 'S-' });
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 2, planned: 4, sending: 0 });
  expect(await lane.commands.unknown()).toMatchObject([{ first: 0, count: 2 }]);
});

test('A batch sent without its suppressed recipients is not sent again under the correlator of the whole batch', async () => {
  const lane = laneFixture(redis, prefix, 'correlator-part', { repeatFor: 86_400_000, maxRecipients: 3 });
  await lane.campaign('c', 3);
  const claims = await lane.claim();
  await lane.settle(claims, 'unknown', START + 1, { letters: '-S-' });
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 2, suppressed: 1, planned: 0 });
});

test('When an operator resends a batch, suppressed recipients stay unknown, and the others are sent without them', async () => {
  const lane = laneFixture(redis, prefix, 'resent-divided', { maxRecipients: 6 });
  await lane.campaign('c', 6);
  const first = await lane.ask();
  await lane.settle(first.claims, 'unknown', START + 1);
  const later = START + 120_000;
  await lane.commands.resolve('resend', 'x', await lane.commands.unknown(), later);
  const again = await lane.ask(later, 9);
  await lane.settle(again.claims, 'partlySuppressed', later, { letters: '--SS-S' });
  const parts = await lane.ask(later, 9);
  expect(parts.claims.map(({ first, count, again }) => [first, count, again])).toEqual([
    [0, 2, 'byOperator'],
    [2, 2, 'byOperator'],
    [4, 1, 'byOperator'],
    [5, 1, 'byOperator'],
  ]);
  for (const [at, claim] of parts.claims.entries())
    await lane.settle(claim, at % 2 === 0 ? 'accepted' : 'suppressed', later + 1);
  expect((await lane.state('c')).counts).toMatchObject({ unknown: 3, deliveredToNetwork: 3, planned: 0 });
  expect((await lane.commands.unknown()).map(({ first, count }) => [first, count])).toEqual([
    [2, 2],
    [5, 1],
  ]);
});

test('A batch that an operator resends and then cancels becomes unknown, because it may have been accepted before', async () => {
  const lane = laneFixture(redis, prefix, 'repeat-resent', { maxRecipients: 3 });
  await lane.campaign('c', 3);
  const claims = await lane.claim();
  await lane.settle(claims, 'unknown', START + 1);
  const later = START + 120_000;
  await lane.commands.resolve('resend', 'x', await lane.commands.unknown(), later);
  const part = await lane.ask(later, 1, { maxRecipients: 2 });
  await lane.settle(part.claims, 'notSent', later, { reason: 'x' });
  await lane.commands.campaign('cancel', 'c');
  await lane.sweep(later + 60_000);
  expect((await lane.state('c')).counts).toMatchObject({ planned: 0, sending: 0, unknown: 3 });
});
