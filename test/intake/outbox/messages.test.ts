import { describe, expect, test } from 'vitest';
import { recipientReader } from '../../../src/reporting/recipient-reader.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { LATE_MS, outboxFixture, RETENTION_MS } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-messages');
const outbox = () => outboxFixture(redis, prefix);

describe('A message', () => {
  test('is claimed once it is due, and not before', async () => {
    const own = await outbox();
    await own.put('later', 5_000);
    await own.put('now');
    await own.tend();
    expect(await own.idsOf(await own.claim())).toEqual(['now']);
    own.advance(4_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
    own.advance(1_000);
    await own.tend();
    expect(await own.idsOf(await own.claim())).toEqual(['later']);
  });

  test('that is moved is sent at its new time only', async () => {
    const own = await outbox();
    await own.put('a', 5_000);
    await own.put('a', 20_000);
    own.advance(6_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
    await own.put('a', 2_000);
    own.advance(2_000);
    await own.tend();
    expect(await own.claim()).toHaveLength(1);
    own.advance(20_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
  });

  test.each([1, 2])(
    'that is moved while its outbox is tended stays in the outbox (step %i)',
    async (step) => {
      const own = await outbox();
      await own.put('a');
      await own.put('b');
      await own.tendWhile(async () => {
        expect(await own.put('b', 30_000)).toMatchObject({ outcome: 'updated' });
      }, step);
      expect(await own.idsOf(await own.claim())).toEqual(['a']);
      expect(await own.counts()).toMatchObject({ total: 2, sum: 2, waiting: 1 });
      own.advance(30_000);
      await own.tend();
      expect(await own.idsOf(await own.claim())).toEqual(['b']);
    },
  );

  test.each([1, 2])('that is cancelled while its outbox is tended is never sent (step %i)', async (step) => {
    const own = await outbox();
    await own.put('a');
    await own.tendWhile(async () => {
      expect(await own.cancel('a')).toBe('cancelled');
    }, step);
    await own.tend();
    expect(await own.claim()).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, cancelled: 1 });
  });

  test('lapses while it waits, after its time and `late`', async () => {
    const own = await outbox();
    await own.put('a', 1_000);
    own.advance(1_000 + LATE_MS);
    expect(await own.tend()).toMatchObject({ planned: 0, lapsed: 1 });
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'lapsed' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 0, lapsed: 1 });
  });

  test('lapses in its wave: no claim takes it after its time and `late`', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    own.advance(LATE_MS);
    expect(await own.claim()).toEqual([]);
    await own.put('b');
    expect(await own.tend()).toMatchObject({ planned: 1, lapsed: 1 });
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['lapsed', 'planned']);
    expect(await own.idsOf(await own.claim())).toEqual(['b']);
  });

  test('that was claimed and released lapses as well', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    const claims = await own.claim();
    own.advance(LATE_MS);
    await own.settle(claims, 'released');
    expect(await own.claim()).toEqual([]);
    expect(await own.tend()).toMatchObject({ lapsed: 1 });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1 });
  });

  test('that is released after its time lapses without another message', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    const claims = await own.claim();
    own.advance(LATE_MS);
    await own.tendDue();
    await own.settle(claims, 'released');
    own.advance(1_000);
    expect(await own.tendDue()).toMatchObject({ lapsed: 1 });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1 });
  });

  test('that no process serves lapses in its wave and before, and nothing else happens to it', async () => {
    const own = await outbox();
    await own.put('planned');
    await own.tend();
    await own.put('due');
    await own.put('later', 10_000);
    const dueAt = own.now();
    expect((await own.lapseDue()).next).toBe(dueAt + LATE_MS);
    expect((await own.states()).map(({ counts }) => counts.planned)).toEqual([1]);
    // A process that serves the lane by now sends what is due.
    expect(await own.tendDue()).toMatchObject({ planned: 1, lapsed: 0 });
    own.advance(LATE_MS);
    expect((await own.lapseDue()).next).toBe(dueAt + 10_000 + LATE_MS);
    expect((await own.states()).map(({ counts }) => counts.lapsed)).toEqual([2]);
    own.advance(10_000);
    await own.lapseDue();
    expect(await own.counts()).toMatchObject({ total: 3, sum: 3, waiting: 0, lapsed: 1 });
  });

  test('that a claim finds too late makes its outbox due', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    const claims = await own.claim();
    await own.settle(claims, 'released');
    await own.leaveAlone();
    own.advance(LATE_MS);
    expect(await own.claim()).toEqual([]);
    expect(await own.tendDue()).toMatchObject({ lapsed: 1 });
  });

  test('with an unknown outcome goes again under its correlator, but not after its time: then it stays unknown', async () => {
    const own = await outboxFixture(redis, prefix, { repeatFor: 80_000_000 });
    await own.claim();
    for (const id of ['a', 'b']) await own.put(id);
    own.advance(1_000);
    await own.tend();
    const claims = await own.claim();
    await own.settle(claims, 'unknown');
    const again = await own.claim();
    expect(again.map(({ first, again: how }) => [first, how])).toEqual([
      [0, 'underCorrelator'],
      [1, 'underCorrelator'],
    ]);
    expect(await own.cancel('a')).toBe('sent');
    own.advance(LATE_MS);
    await own.settle(again, 'unknown');
    expect(await own.claim()).toEqual([]);
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['unknown', 'unknown']);
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2 });
  });

  test('that waits for its repeat when it becomes too late is set aside, and stays unknown', async () => {
    const own = await outboxFixture(redis, prefix, { repeatFor: 80_000_000 });
    await own.claim();
    await own.put('a');
    own.advance(1_000);
    await own.tend();
    await own.settle(await own.claim(), 'unknown');
    own.advance(LATE_MS);
    await own.tendDue();
    own.advance(own.rules.timeout + own.rules.margin + 1);
    const { overdueSends } = await own.views.tend(1e12, own.now(), []);
    expect(overdueSends).toHaveLength(1);
    const results = overdueSends.map(
      (claim) => ({ claim, result: 'unknown', overdue: true, reason: 'lost' }) as const,
    );
    await own.settlements.send(results, 0.5, own.now());
    await own.tendDue();
    expect(await own.claim()).toEqual([]);
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['unknown']);
  });

  test('has its reference in the results and reports of its wave', async () => {
    const own = await outbox();
    await own.put('a', undefined, { reference: 'order-1' });
    await own.tend();
    const [wave = ''] = await own.waves();
    const chunk = await recipientReader(redis, own.keys, own.laneId, wave).chunk(0, () => true);
    expect(chunk?.records).toMatchObject([{ reference: 'order-1' }]);
  });

  test('is forgotten when it was cancelled as long ago as the retention', async () => {
    const own = await outbox();
    await own.put('a', 5_000);
    await own.cancel('a');
    own.advance(RETENTION_MS + 3_600_000);
    await own.tend();
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, stored: 0, cancelled: 1 });
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'created' });
  });

  test('that was cancelled again with a higher version is forgotten when that is as long ago as the retention', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { version: 1 });
    await own.cancel('a', 2);
    own.advance(2 * 3_600_000);
    await own.cancel('a', 3);
    own.advance(RETENTION_MS - 3_600_000);
    await own.tend();
    expect(await own.put('a', 5_000, { version: 3 })).toMatchObject({ outcome: 'cancelled' });
    own.advance(2 * 3_600_000);
    await own.tend();
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, stored: 0, cancelled: 1 });
  });
});

describe('A cancel', () => {
  test('of a waiting message is final, and may be repeated', async () => {
    const own = await outbox();
    await own.put('a', 1_000);
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.cancel('a')).toBe('cancelled');
    own.advance(1_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, cancelled: 1 });
  });

  test('of a planned message is passed over by the claim', async () => {
    const own = await outbox();
    for (const id of ['a', 'b', 'c', 'd']) await own.put(id);
    await own.tend();
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.cancel('c')).toBe('cancelled');
    expect(await own.cancel('c')).toBe('cancelled');
    expect(await own.idsOf(await own.claim())).toEqual(['b', 'd']);
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['cancelled', 'sending', 'cancelled', 'sending']);
    expect(await own.counts()).toMatchObject({ total: 4, sum: 4 });
  });

  test('of a claimed message comes too late, and of a released one it does not', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    const claims = await own.claim();
    expect(await own.cancel('a')).toBe('sent');
    await own.settle(claims, 'released');
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.claim()).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1 });
  });

  test('of an unknown id needs a version, and then keeps a late put out', async () => {
    const own = await outbox();
    expect(await own.cancel('a')).toBe('unknown');
    expect(await own.cancel('a', 4)).toBe('cancelled');
    expect(await own.put('a', 1_000, { version: 3 })).toMatchObject({ outcome: 'cancelled' });
    expect(await own.put('a', 1_000, { version: 5 })).toMatchObject({ outcome: 'created' });
    expect(await own.cancel('a', 4)).toBe('stale');
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1 });
  });

  test('of a lapsed id keeps its version, so that a put with an earlier one comes too late', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { version: 1 });
    own.advance(5_000 + LATE_MS);
    expect(await own.tendDue()).toMatchObject({ lapsed: 1 });
    expect(await own.cancel('a', 7)).toBe('lapsed');
    expect(await own.put('a', 90_000_000, { version: 5 })).toMatchObject({ outcome: 'lapsed' });
    expect(await own.put('a', 90_000_000, { version: 8 })).toMatchObject({ outcome: 'created' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1, lapsed: 0 });
  });

  test('of a planned message keeps its version, so that a put with an earlier one comes too late', async () => {
    const own = await outbox();
    await own.put('a', undefined, { version: 1 });
    await own.tend();
    expect(await own.cancel('a', 3)).toBe('cancelled');
    expect(await own.put('a', 5_000, { version: 2 })).toMatchObject({ place: { ordinal: 0, version: 3 } });
    expect(await own.cancel('a', 2)).toBe('stale');
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.put('a', 5_000, { version: 4 })).toMatchObject({ place: { ordinal: 0, version: 3 } });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1 });
  });
});
