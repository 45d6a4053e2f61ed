import { describe, expect, test } from 'vitest';
import { recipientReader } from '../../../../src/reporting/recipient-reader.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { START } from '../../../engine/lane/lane-fixture.js';
import { LATE_MS, NOW, outboxFixture } from '../outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-put');
const outbox = () => outboxFixture(redis, prefix);
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
    expect(await own.tend()).toMatchObject({ planned: 1, lapsed: 0 });
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

  test('that decided before a cancel with a higher version came changes nothing', async () => {
    const own = await outbox();
    await own.put('a', undefined, { version: 1 });
    await own.tend();
    expect(await own.cancel('a')).toBe('cancelled');
    const { place } = await own.put('a', undefined, { version: 2 });
    if (place === null) throw new Error('the message is not in a wave');
    const again = async (version: number) => {
      const entry = { id: 'a', message: { ...NOW, version }, over: place };
      return (await own.store.put([entry], { now: own.now() })).replies.map(({ outcome }) => outcome);
    };
    expect(await own.cancel('a', 3)).toBe('cancelled');
    expect(await again(2)).toEqual(['planned']);
    expect(await again(4)).toEqual(['created']);
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2, waiting: 1, stored: 1 });
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
    await own.tend();
    await own.settle(await own.claim(), 'accepted');
    expect(await own.put('a', 5_000, { version: 9 })).toMatchObject({
      outcome: 'planned',
      place: { ordinal: 0 },
    });
    own.advance(10_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
  });

  test('to be sent at once is sent although the clock was set back since', async () => {
    const own = await outbox();
    await own.put('a');
    own.advance(-13_000);
    expect(await own.tend()).toMatchObject({ planned: 0, lapsed: 0 });
    own.advance(14_000);
    expect(await own.tendDue()).toMatchObject({ planned: 1 });
  });

  test('stores each of a thousand messages once', async () => {
    const own = await outbox();
    const ids = Array.from({ length: 1_000 }, (_, at) => `appointment-${at}`);
    const entries = ids.map((id) => ({ id, message: { ...MESSAGE, due: 2_000_000_000 } }));
    const outcomes = async () =>
      new Set((await own.store.put(entries)).replies.map(({ outcome }) => outcome));
    expect(await outcomes()).toEqual(new Set(['created']));
    expect(await outcomes()).toEqual(new Set(['unchanged']));
    expect((await own.store.read(ids)).filter((raw) => raw === null)).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1_000, sum: 1_000, waiting: 1_000, stored: 1_000 });
  });

  test('of the same id twice in one call takes effect twice, in its order', async () => {
    const own = await outbox();
    const [first, second] = [5, 9].map((inS) => ({
      id: 'a',
      message: { ...MESSAGE, due: Math.floor(own.now() / 1_000) + inS, values: [`in ${inS} s`] },
    }));
    if (first === undefined || second === undefined) throw new Error('no entries');
    const { replies } = await own.store.put([first, second, second], { now: own.now() });
    expect(replies.map(({ outcome }) => outcome)).toEqual(['created', 'updated', 'unchanged']);
    expect(await own.store.find('a')).toMatchObject({ values: ['in 9 s'], due: second.message.due });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1, stored: 1 });
  });
});

describe('A message that is due now', () => {
  /** An outbox with a wave in which everything was sent. */
  const sent = async () => {
    const own = await outbox();
    await own.put('first');
    await own.tend();
    await own.settle(await own.claim(), 'accepted');
    return own;
  };
  const waiting = async (own: Awaited<ReturnType<typeof sent>>) => (await own.counts()).waiting;

  test('is planned at once in a wave that goes on, and counted', async () => {
    const own = await sent();
    expect(await own.putAllNow(['a', 'b'])).toMatchObject({ isEarlier: true });
    expect(await own.putAllNow(['c'])).toMatchObject({ isEarlier: false });
    expect(await own.counts()).toMatchObject({ total: 4, sum: 4, waiting: 0, stored: 4 });
    expect(await own.idsOf(await own.claim())).toEqual(['a', 'b', 'c']);
    expect(await own.put('c')).toMatchObject({ outcome: 'planned', place: { ordinal: 3 } });
  });

  test('is planned at once although another process has appended', async () => {
    const own = await sent();
    const ids = Array.from({ length: 300 }, (_, at) => `m${at}`);
    for (let from = 0; from < 300; from += 50) {
      await own.putAllNow(ids.slice(from, from + 50));
      expect(await waiting(own)).toBe(0);
      await own.put(`between${from}`);
      await own.tend();
      for (let claims = await own.claim(); claims.length > 0; claims = await own.claim())
        await own.settle(claims, 'accepted');
    }
    const [wave = ''] = await own.waves();
    const chunk = await recipientReader(redis, own.keys, own.laneId, wave).chunk(0, () => true, 1_000);
    expect(chunk?.records).toHaveLength(307);
    expect(await own.put('m299')).toMatchObject({ outcome: 'planned', place: { ordinal: 305 } });
    expect(await own.put('between250')).toMatchObject({ outcome: 'planned', place: { ordinal: 306 } });
    expect(await own.counts()).toMatchObject({ total: 307, sum: 307, waiting: 0 });
  });

  test('waits if it was stored for later, and the others are planned', async () => {
    const own = await sent();
    await own.put('b', 60_000);
    const { replies } = await own.putAllNow(['a', 'b', 'c', 'c']);
    expect(replies.map(({ outcome }) => outcome)).toEqual(['created', 'updated', 'created', 'unchanged']);
    expect(await own.counts()).toMatchObject({ total: 4, sum: 4, waiting: 0, stored: 4 });
    expect(await own.idsOf(await own.claim())).toEqual(['a', 'b', 'c']);
    expect((await own.storedMessages()).due).toBe(0);
  });

  test('is planned as far as the lane sends soon, and the others wait', async () => {
    const own = await sent();
    await own.putAllNow(Array.from({ length: 70 }, (_, at) => `m${at}`));
    expect(await own.counts()).toMatchObject({ total: 71, sum: 71, waiting: 6 });
    await own.settle(await own.claim(), 'accepted');
    expect(await own.tendDue()).toMatchObject({ planned: 6 });
    expect(await waiting(own)).toBe(0);
  });

  test.each<[string, (own: Awaited<ReturnType<typeof sent>>) => Promise<unknown>]>([
    ['something else is due', (own) => own.put('other')],
    [
      'as many are planned as the lane sends soon',
      (own) => own.putAllNow(Array.from({ length: 64 }, (_, at) => `m${at}`)),
    ],
    ['the lane is held', (own) => own.commands.lane('hold', 'for a test', own.now())],
    ['the outbox is paused', (own) => own.change({ state: 'paused' })],
    ['the wave is too old', async (own) => own.advance(86_400_000)],
    ['the wave is full', (own) => own.putAllNow(Array.from({ length: 2 }, (_, at) => `m${at}`))],
    ['Redis may have lost data', (own) => own.stored.changeServer()],
  ])('waits if %s', async (why, begin) => {
    const own = await outboxFixture(redis, prefix);
    if (why === 'the wave is full') await own.change({ capacity: 3 });
    await own.put('first');
    await own.tend();
    await own.settle(await own.claim(), 'accepted');
    await begin(own);
    const before = await waiting(own);
    expect(await own.putNow('a')).toMatchObject({ outcome: 'created' });
    expect(await waiting(own)).toBe(before + 1);
    expect(await own.store.find('a')).toMatchObject({ kind: 'waiting' });
  });

  test('lapses after its time and `late`, and can be cancelled until it is claimed', async () => {
    const own = await sent();
    await own.putAllNow(['a', 'b']);
    expect(await waiting(own)).toBe(0);
    expect(await own.cancel('a')).toBe('cancelled');
    own.advance(LATE_MS);
    expect(await own.claim()).toEqual([]);
    expect(await own.tendDue()).toMatchObject({ lapsed: 1 });
    expect(await own.counts()).toMatchObject({ total: 3, sum: 3 });
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['deliveredToNetwork', 'cancelled', 'lapsed']);
  });

  test('is claimed only when Redis can no longer lose it', async () => {
    const own = await sent();
    await own.stored.mayLose(2_000);
    own.advance(1_000);
    await own.putAllNow(['a']);
    const [wave = ''] = await own.waves();
    const state = await own.state(wave);
    expect(state).toMatchObject({
      ranges: expect.arrayContaining([[1, own.now() + LATE_MS, own.now()]]),
    });
  });
});
