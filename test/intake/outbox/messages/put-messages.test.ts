import { describe, expect, test } from 'vitest';
import { outboxId } from '../../../../src/engine/recipients/outbox-messages.js';
import type { Entry } from '../../../../src/intake/outbox/messages/store.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { START } from '../../../engine/lane/lane-fixture.js';
import { LATE_MS, NOW, outboxFixture } from '../outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-put');
const outbox = () => outboxFixture(redis, prefix);
/** Two values with the same digest (OUTBOX.digest). */
const [DIGEST, SAME_DIGEST] = ['Ada 15519', 'Ada 36866'];
const MESSAGE = { due: 1, version: null, number: '+447700900123', values: ['Ada'], reference: '' };

describe('A put', () => {
  test('stores a message once, changes it, and leaves an equal one alone', async () => {
    const own = await outbox();
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'created' });
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'unchanged' });
    expect(await own.put('a', 9_000, { values: ['Grace'] })).toMatchObject({ outcome: 'updated' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1 });
  });

  test('that is to be sent at once moves a waiting message to now, and leaves one that is due already as it is', async () => {
    const own = await outbox();
    await own.put('a', 5_000);
    const now = { outcome: 'updated', due: START / 1_000 };
    expect(await own.put('a', undefined, { values: ['Grace'] })).toMatchObject(now);
    own.advance(2_000);
    expect(await own.put('a', undefined, { values: ['Alan'] })).toMatchObject(now);
    expect(await own.tend()).toEqual({ lapsed: 0 });
    expect(await own.idsOf(await own.claim())).toEqual(['a']);
  });

  test('with a lower version than the stored one is stale, and one without a version keeps it', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { version: 7 });
    expect(await own.put('a', 6_000, { version: 6 })).toMatchObject({ outcome: 'stale' });
    expect(await own.put('a', 6_000)).toMatchObject({ outcome: 'updated' });
    expect(await own.put('a', 7_000, { version: 6 })).toMatchObject({ outcome: 'stale' });
    expect(await own.put('a', 7_000, { version: 8 })).toMatchObject({ outcome: 'updated' });
  });

  test('with a lower version than a later cancel changes nothing, and one with a higher version stores the message again under another number', async () => {
    const own = await outbox();
    await own.put('a', undefined, { version: 1 });
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.cancel('a', 3)).toBe('cancelled');
    expect(await own.put('a', undefined, { version: 2 })).toMatchObject({ outcome: 'cancelled' });
    expect(await own.put('a', undefined, { version: 4 })).toMatchObject({ outcome: 'created' });
    expect((await own.messages()).get('a')).toMatchObject({ number: 2, version: 4, state: 'planned' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1, stored: 1 });
  });

  test('under a cancelled id needs a higher version', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { version: 2 });
    expect(await own.cancel('a', 3)).toBe('cancelled');
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'cancelled' });
    expect(await own.put('a', 5_000, { version: 3 })).toMatchObject({ outcome: 'cancelled' });
    expect(await own.put('a', 5_000, { version: 4 })).toMatchObject({ outcome: 'created' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1, cancelled: 0 });
  });

  test('of a message that was sent does nothing', async () => {
    const own = await outbox();
    await own.put('a');
    await own.settle(await own.claim(), 'accepted');
    expect(await own.put('a', 5_000, { version: 9 })).toMatchObject({ outcome: 'sent' });
    expect(await own.put('a')).toMatchObject({ outcome: 'unchanged' });
    own.advance(10_000);
    expect(await own.claim()).toEqual([]);
  });

  test('compares the values of a waiting message, and of one in flight, and not only their digests', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { values: [DIGEST] });
    expect(await own.put('a', 5_000, { values: [SAME_DIGEST] })).toMatchObject({ outcome: 'updated' });
    expect(await own.store.find('a')).toMatchObject({ values: [SAME_DIGEST] });
    await own.put('b', undefined, { values: [DIGEST] });
    await own.claim();
    expect(await own.put('b', undefined, { values: [SAME_DIGEST] })).toMatchObject({ outcome: 'sent' });
  });

  test('answers when the message is due only while it waits', async () => {
    const own = await outbox();
    await own.put('a', undefined, { version: 2 });
    const due = START / 1_000;
    expect(await own.put('a', undefined, { version: 2 })).toEqual({ outcome: 'unchanged', due });
    expect(await own.put('a', undefined, { version: 1 })).toEqual({ outcome: 'stale', due });
    const claims = await own.claim();
    expect(await own.put('a', undefined, { version: 2 })).toEqual({ outcome: 'unchanged', due: null });
    await own.settle(claims, 'accepted');
    expect(await own.put('a', undefined, { version: 2 })).toEqual({ outcome: 'unchanged', due: null });
    expect(await own.put('a', undefined, { version: 1 })).toEqual({ outcome: 'stale', due: null });
  });

  test('that changes nothing is answered without room, and no other', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { tag: 'order-1' });
    await own.put('sent');
    await own.settle(await own.claim(), 'accepted');
    const due = START / 1_000 + 5;
    const again = { id: 'a', message: { ...NOW, due, tag: 'order-1' } };
    const putFull = async (...entries: readonly Entry[]) => (await own.putMany(entries, true)).replies;
    const [counts, stored] = [await own.counts(), await own.messages()];
    expect(await putFull(again, { id: 'sent', message: NOW })).toEqual([
      { outcome: 'unchanged', due },
      { outcome: 'unchanged', due: null },
    ]);
    for (const message of [
      { ...again.message, tag: 'order-2' },
      { ...again.message, hasOwnTime: true },
      { ...again.message, values: ['Grace'] },
    ])
      await expect(putFull(again, { id: 'a', message })).rejects.toMatchObject({ state: 'full' });
    await expect(putFull({ id: 'new', message: NOW })).rejects.toMatchObject({ state: 'full' });
    expect([await own.counts(), await own.messages()]).toEqual([counts, stored]);
  });

  test('to be sent at once is sent although the clock was set back since', async () => {
    const own = await outbox();
    await own.put('a');
    own.advance(-13_000);
    expect(await own.tend()).toEqual({ lapsed: 0 });
    own.advance(14_000);
    expect(await own.idsOf(await own.claim())).toEqual(['a']);
  });

  test('stores each of a thousand messages once', async () => {
    const own = await outbox();
    const ids = Array.from({ length: 1_000 }, (_, at) => `appointment-${at}`);
    const entries = ids.map((id) => ({ id, message: { ...MESSAGE, due: 2_000_000_000 } }));
    const outcomes = async () => new Set((await own.putMany(entries)).replies.map(({ outcome }) => outcome));
    expect(await outcomes()).toEqual(new Set(['created']));
    expect(await outcomes()).toEqual(new Set(['unchanged']));
    expect((await own.store.findAll(ids)).filter((stored) => stored === null)).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1_000, sum: 1_000, waiting: 1_000, stored: 1_000 });
  });

  test('of the same id twice in one call takes effect twice, in its order', async () => {
    const own = await outbox();
    const [first, second] = [5, 9].map((inS) => ({
      id: 'a',
      message: { ...MESSAGE, due: Math.floor(own.now() / 1_000) + inS, values: [`in ${inS} s`] },
    }));
    if (first === undefined || second === undefined) throw new Error('no entries');
    const { replies } = await own.putMany([first, second, second]);
    expect(replies.map(({ outcome }) => outcome)).toEqual(['created', 'updated', 'unchanged']);
    expect(await own.store.find('a')).toMatchObject({ values: ['in 9 s'], due: second.message.due });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1, stored: 1 });
  });
});

describe('A message that is due now', () => {
  /** An outbox in which everything was sent. */
  const sent = async () => {
    const own = await outbox();
    await own.put('first');
    await own.settle(await own.claim(), 'accepted');
    return own;
  };

  test('is claimed at once, in the order of the puts of a time, and counted', async () => {
    const own = await sent();
    expect(await own.putAllNow(['a', 'b'])).toMatchObject({ isEarlier: true });
    expect(await own.idsOf(await own.claim(1))).toEqual(['a']);
    // The lane is at work on the outbox already.
    expect(await own.putAllNow(['c'])).toMatchObject({ isEarlier: false });
    expect(await own.counts()).toMatchObject({ total: 4, sum: 4, waiting: 2, stored: 4 });
    expect(await own.idsOf(await own.claim())).toEqual(['b', 'c']);
    expect(await own.put('c')).toMatchObject({ outcome: 'unchanged' });
    expect(await own.put('c', undefined, { reference: 'other' })).toMatchObject({ outcome: 'sent' });
  });

  test('has a number of its own, which no other message of the outbox gets', async () => {
    const own = await sent();
    const ids = Array.from({ length: 300 }, (_, at) => `m${at}`);
    for (let from = 0; from < 300; from += 50) {
      await own.putAllNow(ids.slice(from, from + 50));
      await own.put(`between${from}`);
      for (let claims = await own.claim(); claims.length > 0; claims = await own.claim())
        await own.settle(claims, 'accepted');
    }
    const numbers = [...(await own.messages()).values()].map(({ number }) => number);
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 307 }, (_, at) => at + 1));
    expect(await own.put('m299')).toMatchObject({ outcome: 'unchanged' });
    expect(await own.counts()).toMatchObject({ total: 307, sum: 307, waiting: 0 });
  });

  test('may have been stored for later before', async () => {
    const own = await sent();
    await own.put('b', 60_000);
    const { replies } = await own.putAllNow(['a', 'b', 'c', 'c']);
    expect(replies.map(({ outcome }) => outcome)).toEqual(['created', 'updated', 'created', 'unchanged']);
    expect(await own.counts()).toMatchObject({ total: 4, sum: 4, waiting: 3, stored: 4 });
    expect(await own.idsOf(await own.claim())).toEqual(['a', 'b', 'c']);
  });

  test('waits until the quota of the lane permits its request', async () => {
    const own = await outboxFixture(redis, prefix, { quota: 3 });
    await own.putAllNow(Array.from({ length: 10 }, (_, at) => `m${at}`));
    expect(await own.claim()).toHaveLength(3);
    expect(await own.claim()).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 10, sum: 10, waiting: 7, sending: 3 });
  });

  test.each<[string, (own: Awaited<ReturnType<typeof sent>>) => Promise<unknown>]>([
    ['the lane is held', (own) => own.commands.lane('hold', 'for a test', own.now())],
    [
      'the outbox is paused',
      (own) => own.commands.campaign('pause', outboxId(own.name), 'a test', own.now()),
    ],
  ])('waits if %s', async (_, begin) => {
    const own = await sent();
    await begin(own);
    expect(await own.put('a')).toMatchObject({ outcome: 'created' });
    expect(await own.claim()).toEqual([]);
    expect(await own.store.find('a')).toMatchObject({ state: 'planned' });
  });

  test('lapses after its time and `late`, and can be cancelled until it is claimed', async () => {
    const own = await sent();
    await own.putAllNow(['a', 'b']);
    await own.tend();
    expect(await own.cancel('a')).toBe('cancelled');
    own.advance(LATE_MS);
    expect(await own.claim()).toEqual([]);
    expect(await own.statesOf('first', 'a', 'b')).toEqual(['deliveredToNetwork', 'cancelled', 'lapsed']);
    expect(await own.counts()).toMatchObject({ total: 3, sum: 3 });
  });

  test('is claimed only when Redis can no longer lose it, nor its last change', async () => {
    const own = await outbox();
    const lossy = { process: 'p', mayLoseMs: 2_000, withReplicaMs: 2_000 };
    const claim = async (call: number) =>
      own.idsOf((await own.claims.send({ turn: 'one', call, want: 10, ...lossy, now: own.now() })).claims);
    await claim(1);
    own.advance(5_000);
    await own.put('a');
    await own.put('b');
    expect(await claim(2)).toEqual([]);
    own.advance(1_000);
    await own.put('b', undefined, { values: ['Grace'] });
    own.advance(1_000);
    expect(await claim(3)).toEqual(['a']);
    own.advance(1_000);
    expect(await claim(4)).toEqual(['b']);
  });
});
