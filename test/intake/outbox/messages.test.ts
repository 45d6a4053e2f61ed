import { describe, expect, test } from 'vitest';
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

  test('that is moved between the look at its outbox and the claim stays in the outbox', async () => {
    const own = await outbox();
    await own.put('a');
    await own.put('b');
    await own.lapseDue();
    expect(await own.put('b', 30_000)).toMatchObject({ outcome: 'updated' });
    expect(await own.idsOf(await own.claim())).toEqual(['a']);
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2, waiting: 1 });
    own.advance(30_000);
    expect(await own.idsOf(await own.claim())).toEqual(['b']);
  });

  test('that is cancelled between the look at its outbox and the claim is never sent', async () => {
    const own = await outbox();
    await own.put('a');
    await own.lapseDue();
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.claim()).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, cancelled: 1 });
  });

  test('lapses while it waits, after its time and `late`', async () => {
    const own = await outbox();
    await own.put('a', 1_000);
    own.advance(1_000 + LATE_MS);
    expect(await own.tend()).toEqual({ lapsed: 1 });
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'lapsed' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 0, lapsed: 1 });
  });

  test('lapses although it was in the order: no claim takes it after its time and `late`', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    own.advance(LATE_MS);
    expect(await own.claim()).toEqual([]);
    await own.put('b');
    expect(await own.statesOf('a', 'b')).toEqual(['lapsed', 'planned']);
    expect(await own.idsOf(await own.claim())).toEqual(['b']);
  });

  test('leaves before it lapses', async () => {
    const own = await outbox();
    await own.put('a');
    own.advance(LATE_MS - 1);
    const claims = await own.claim();
    expect(claims).toMatchObject([{ message: 'a', leaveWithinMs: 0 }]);
    own.advance(1);
    await own.settle(claims, 'released');
    expect(await own.claim()).toEqual([]);
    expect(await own.statesOf('a')).toEqual(['lapsed']);
  });

  test('that was claimed, and is released after its time, lapses without another message', async () => {
    const own = await outbox();
    await own.put('a');
    const claims = await own.claim();
    own.advance(LATE_MS);
    expect(await own.tend()).toEqual({ lapsed: 0 });
    await own.settle(claims, 'released');
    expect(await own.tend()).toEqual({ lapsed: 1 });
    expect(await own.claim()).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, lapsed: 1 });
  });

  test('that no process serves lapses, and nothing else happens to it', async () => {
    const own = await outbox();
    await own.put('due');
    await own.put('later', 10_000);
    const dueAt = own.now();
    // A process that serves the lane sends what is due.
    expect((await own.lapseDue()).next).toBe(dueAt + 10_000);
    expect(await own.counts()).toMatchObject({ waiting: 2, lapsed: 0 });
    own.advance(10_000);
    expect((await own.lapseDue()).next).toBe(dueAt + LATE_MS);
    own.advance(LATE_MS - 10_000);
    expect((await own.lapseDue()).next).toBe(dueAt + 10_000 + LATE_MS);
    expect(await own.statesOf('due', 'later')).toEqual(['lapsed', 'planned']);
    own.advance(10_000);
    expect((await own.lapseDue()).next).toBeNull();
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2, waiting: 0, lapsed: 2 });
  });

  test('that a claim finds too late lapses, although the lane did not know that it had something to do', async () => {
    const own = await outbox();
    await own.put('a');
    await own.settle(await own.claim(), 'released');
    await own.lapseDue();
    await own.leaveAlone();
    own.advance(LATE_MS);
    expect(await own.claim()).toEqual([]);
    expect(await own.statesOf('a')).toEqual(['lapsed']);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, lapsed: 1 });
  });

  test('with an unknown outcome goes again under its correlator, but not after its time: then it stays unknown', async () => {
    const own = await outboxFixture(redis, prefix, { repeatFor: 80_000_000 });
    await own.claim();
    for (const id of ['a', 'b']) await own.put(id);
    own.advance(1_000);
    const claims = await own.claim();
    await own.settle(claims, 'unknown');
    const again = await own.claim();
    expect(again.map(({ message, first, again: how }) => [message, first, how]).sort()).toEqual([
      ['a', 1, 'underCorrelator'],
      ['b', 2, 'underCorrelator'],
    ]);
    expect(await own.cancel('a')).toBe('sent');
    own.advance(LATE_MS);
    await own.settle(again, 'unknown');
    expect(await own.claim()).toEqual([]);
    expect(await own.statesOf('a', 'b')).toEqual(['unknown', 'unknown']);
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2, unknown: 2 });
  });

  test('that waits for its repeat when it becomes too late is set aside, and stays unknown', async () => {
    const own = await outboxFixture(redis, prefix, { repeatFor: 80_000_000 });
    await own.claim();
    await own.put('a');
    own.advance(1_000);
    await own.settle(await own.claim(), 'unknown');
    own.advance(LATE_MS);
    expect(await own.tend()).toEqual({ lapsed: 0 });
    own.advance(own.rules.timeout + own.rules.margin + 1);
    const { overdueSends } = await own.views.tend(1e12, own.now(), []);
    expect(overdueSends).toHaveLength(1);
    const results = overdueSends.map(
      (claim) => ({ claim, result: 'unknown', overdue: true, reason: 'lost' }) as const,
    );
    await own.settlements.send(results, 0.5, own.now());
    expect(await own.claim()).toEqual([]);
    expect(await own.statesOf('a')).toEqual(['unknown']);
  });

  test('has its reference in the results', async () => {
    const own = await outbox();
    const follow = own.follow();
    await own.put('a', undefined, { reference: 'order-1' });
    await own.settle(await own.claim(), 'unknown');
    expect(await follow()).toMatchObject([{ message: 'a', reference: 'order-1', status: 'unknown' }]);
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

  test('of a message in the order is passed over by the claim', async () => {
    const own = await outbox();
    for (const id of ['a', 'b', 'c', 'd']) await own.put(id);
    await own.tend();
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.cancel('c')).toBe('cancelled');
    expect(await own.cancel('c')).toBe('cancelled');
    expect(await own.idsOf(await own.claim())).toEqual(['b', 'd']);
    expect(await own.statesOf('a', 'b', 'c', 'd')).toEqual(['cancelled', 'sending', 'cancelled', 'sending']);
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
    expect(await own.tend()).toEqual({ lapsed: 1 });
    expect(await own.cancel('a', 7)).toBe('lapsed');
    expect(await own.put('a', 90_000_000, { version: 5 })).toMatchObject({ outcome: 'lapsed' });
    expect(await own.put('a', 90_000_000, { version: 8 })).toMatchObject({ outcome: 'created' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1, lapsed: 0 });
  });

  test('of a message in the order keeps its version, so that a put with an earlier one comes too late', async () => {
    const own = await outbox();
    await own.put('a', undefined, { version: 1 });
    await own.tend();
    expect(await own.cancel('a', 3)).toBe('cancelled');
    expect(await own.put('a', 5_000, { version: 2 })).toMatchObject({ outcome: 'cancelled' });
    expect(await own.cancel('a', 2)).toBe('stale');
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.put('a', 5_000, { version: 4 })).toMatchObject({ outcome: 'created' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1 });
  });
});
