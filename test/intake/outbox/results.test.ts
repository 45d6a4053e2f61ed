import { describe, expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { RULES, START } from '../../engine/lane/lane-fixture.js';
import { LATE_MS, outboxFixture, RETENTION_MS } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-results');
const outbox = () => outboxFixture(redis, prefix);

const HOUR_MS = 3_600_000;

describe('The results', () => {
  test('have messages that are cancelled or lapse while they wait, with their ids, numbers, and references', async () => {
    const own = await outbox();
    const follow = own.follow();
    const more = { number: '+358401234567', values: ['Zoë', 'x'.repeat(300)], reference: 'Bestellung-ä' };
    await own.put('moved-away', 5_000, more);
    await own.put('late', 5_000, { reference: 'B-2' });
    await own.put('sent');
    await own.tend();
    expect(await own.cancel('moved-away', 3)).toBe('cancelled');
    const none = {
      campaign: null,
      lane: own.laneId,
      outbox: own.name,
      requestId: null,
      sentAt: null,
      leftOut: null,
    };
    expect(await follow()).toEqual([
      {
        ...none,
        message: 'moved-away',
        to: more.number,
        reference: more.reference,
        status: 'cancelled',
        reason: 'cancelled before it was sent',
        updatedAt: new Date(own.now()).toISOString(),
        serviceStatus: null,
        serviceCode: null,
      },
    ]);
    await own.settle(await own.claim(), 'unknown');
    own.advance(5_000 + LATE_MS);
    await own.tend();
    expect(await follow()).toMatchObject([
      { campaign: null, outbox: own.name, message: 'sent', status: 'unknown' },
      { ...none, message: 'late', reference: 'B-2', status: 'lapsed' },
    ]);
    expect(await follow()).toEqual([]);
  });

  test('name each message once, however many end together', async () => {
    const own = await outbox();
    const ids = Array.from({ length: 300 }, (_, at) => `m${at}`);
    for (const id of ids) await own.put(id, 5_000);
    for (const id of ids.slice(0, 100)) await own.cancel(id);
    expect(await own.latestResultBytes()).toBeLessThanOrEqual(16 * 100);
    own.advance(5_000 + LATE_MS);
    await own.tend();
    expect(await own.latestResultBytes()).toBeLessThanOrEqual(16 * 102);
    const results = await own.follow()();
    expect(results.map(({ message }) => message)).toHaveLength(300);
    expect(new Map(results.map(({ message, status }) => [message, status]))).toEqual(await own.ended());
  });

  test('have nothing of an id that was cancelled before it was put, and nothing twice of a repeated cancel', async () => {
    const own = await outbox();
    const follow = own.follow();
    expect(await own.cancel('never-put', 2)).toBe('cancelled');
    await own.put('a', 5_000);
    await own.cancel('a', 1);
    expect((await follow()).map(({ message }) => message)).toEqual(['a']);
    await own.cancel('a');
    await own.cancel('a', 4);
    expect(await follow()).toEqual([]);
    expect(await own.put('a', 5_000, { version: 3 })).toMatchObject({ outcome: 'cancelled' });
  });

  test('leave out a message that a higher version revives, until it ends again', async () => {
    const own = await outbox();
    const follow = own.follow();
    await own.put('a', 5_000, { version: 1 });
    await own.cancel('a');
    expect(await own.put('a', 8_000, { version: 2, reference: 'again' })).toMatchObject({
      outcome: 'created',
    });
    expect(await follow()).toEqual([]);
    own.advance(8_000 + LATE_MS);
    await own.tend();
    expect(await follow()).toMatchObject([{ message: 'a', reference: 'again', status: 'lapsed' }]);
  });

  test('keep a message as long as its id is known, and then nothing is left of it', async () => {
    const own = await outbox();
    for (const id of ['a', 'b']) {
      await own.put(id, 5_000);
      await own.cancel(id, 1);
    }
    expect((await own.listsInLog()).join()).toContain(`outbox:${own.name}:`);
    // A later cancel keeps a put out for longer.
    own.advance(RETENTION_MS / 2);
    await own.cancel('b', 2);
    own.advance(RETENTION_MS / 2 + HOUR_MS);
    await own.tend();
    expect(await own.counts()).toMatchObject({ stored: 1 });
    expect((await own.follow()()).map(({ message }) => message)).toEqual(['b']);
    own.advance(RETENTION_MS / 2 + HOUR_MS);
    await own.tend();
    expect(await own.counts()).toMatchObject({ total: 2, stored: 0, cancelled: 2 });
    // The results of the day are kept from its end.
    own.advance(RETENTION_MS);
    await own.tend();
    expect(await own.follow()()).toEqual([]);
    expect(await own.listsInLog()).toEqual([]);
  });
});

test('A message whose report comes after the deadline does not keep the reason that none had come', async () => {
  const notified = { notify: true as const, early: 120_000, heard: 600_000, patience: 150_000 };
  const own = await outboxFixture(redis, prefix, notified);
  await own.put('a');
  const claims = await own.claim();
  await own.settle(claims, 'accepted');
  const late = START + RULES.deadline + 3_600_000;
  await own.settlePolls(await own.poll(late), 'infos', late, { letters: 'N' });
  const reason = 'no final report by the deadline';
  expect(await own.store.find('a')).toMatchObject({ state: 'unconfirmed', reason });
  const reports = claims.map((located) => ({ requestId: `r-${located.number}`, located, letters: 'T' }));
  await own.notifications.settle(reports, [], late);
  expect(await own.store.find('a')).toMatchObject({ state: 'deliveredToTerminal', reason: '' });
});
