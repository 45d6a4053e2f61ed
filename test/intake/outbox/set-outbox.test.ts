import { describe, expect, test } from 'vitest';
import { MessagesUnfitError } from '../../../src/intake/outbox/definition/errors.js';
import { REWRITE_LEASE_MS } from '../../../src/intake/outbox/messages/rewrite-messages.js';
import { outboxStore } from '../../../src/intake/outbox/messages/store.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { LATE_MS, NOW, outboxFixture } from './outbox-fixture.js';

const { redis, prefix } = testRedis('set-outbox');
const HOUR_MS = 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();

type Fixture = Awaited<ReturnType<typeof outboxFixture>>;

/** The texts of what is claimed now, as they are sent. */
async function claimed(own: Fixture): Promise<string[]> {
  const claims = await own.claim();
  const texts = await Promise.all(
    claims.map(async (claim) => `${claim.message}: ${await own.textOf(claim)}`),
  );
  const confirmed = await Promise.all(claims.map((claim) => own.confirm(claim)));
  expect(confirmed).not.toContain(false);
  await own.settle(claims, 'accepted');
  return texts.sort();
}

describe('A new text', () => {
  test('is that of messages that wait, that are due, and that were claimed and not sent', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.put('claimed');
    const claims = await own.claim();
    await own.put('due');
    await own.put('waiting', 2_000);
    expect(await own.set({ message: 'Hello {{name}}' })).toMatchObject({
      changed: ['message'],
      waiting: 2,
      moved: 0,
      unfit: [],
    });
    // The process that claimed it asks right before its request.
    const [claim] = claims;
    expect(claim && (await own.confirm(claim))).toBe(false);
    await own.settle(claims, 'released');
    own.advance(3_000);
    expect(await claimed(own)).toEqual(['claimed: Hello Ada', 'due: Hello Ada', 'waiting: Hello Ada']);
    expect(await own.counts()).toMatchObject({ total: 3, sum: 3, waiting: 0 });
  });

  test('does not change what may have been accepted, which goes again as it was', async () => {
    const own = await outboxFixture(redis, prefix, { repeatFor: HOUR_MS });
    await own.claim();
    await own.put('a');
    own.advance(1_000);
    const claims = await own.claim();
    await own.settle(claims, 'unknown');
    await own.set({ message: 'Hello {{name}}' });
    expect(await claimed(own)).toEqual(['a: Hi Ada']);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 0 });
  });

  test('is refused if waiting messages lack a value, and names it', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.put('waiting', 2_000);
    await own.put('due');
    const change = { message: 'Hi {{name}}, see {{doctor}}' };
    const unfit = [{ member: 'doctor', messageCount: 2, ids: expect.arrayContaining(['waiting', 'due']) }];
    expect(await own.set(change, { isPreview: true })).toMatchObject({ waiting: 2, unfit });
    const refused = own.set(change);
    await expect(refused).rejects.toThrow(MessagesUnfitError);
    await expect(refused).rejects.toThrow('`doctor` is missing');
    expect(await claimed(own)).toEqual(['due: Hi Ada']);
  });

  test('names messages that lack a value and were put, or released, while the others were checked', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.put('in flight');
    const claims = await own.claim();
    const over = own.beforeChange(async () => {
      await own.put('put', 2_000);
      await own.put('cancelled', 2_000);
      await own.settle(claims, 'released');
    });
    const { unfit } = await own.set({ message: 'Hi {{name}}, see {{doctor}}' }, { over });
    expect(unfit).toMatchObject([{ member: 'doctor', code: 'noValue', messageCount: 3 }]);
    expect(unfit[0]?.ids.toSorted()).toEqual(['cancelled', 'in flight', 'put']);
    expect(await own.cancel('cancelled')).toBe('cancelled');
    own.advance(2_000 + LATE_MS);
    await own.tend();
    const messages = [...(await own.messages())].map(
      ([id, { state, reason }]) => `${id}: ${state} ${reason}`,
    );
    const reason = 'its `doctor` does not fit settings that the outbox got later';
    expect(messages.toSorted()).toEqual([
      'cancelled: cancelled ',
      `in flight: lapsed ${reason}`,
      `put: lapsed ${reason}`,
    ]);
  });

  test('takes values for messages that lack some', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.put('waiting', 2_000);
    await own.put('due');
    await own.set({ message: '{{name}}, see {{doctor}}' }, { values: { doctor: 'Who' } });
    own.advance(2_000);
    await own.tend();
    expect(await claimed(own)).toEqual(['due: Ada, see Who', 'waiting: Ada, see Who']);
    await expect(own.set({ message: 'Hi' }, { values: { other: 'x' } })).rejects.toThrow(
      'neither the message',
    );
  });

  test('is that of a message that is released after the others were given its values', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.put('a');
    const claims = await own.claim();
    await own.set({ message: '{{name}}, see {{doctor}}' }, { values: { doctor: 'Who' } });
    await own.settle(claims, 'released');
    expect(await own.claim()).toEqual([]);
    await own.tend();
    own.advance(1_000);
    const again = await own.claim();
    expect(await own.idsOf(again)).toEqual(['a']);
    expect(await Promise.all(again.map(own.textOf))).toEqual(['Ada, see Who']);
  });

  test.each([
    ['uses only values that it has', { message: 'Hello {{name}}' }, {}, 'a: Hello Ada'],
    ['comes with the value that it lacks', { message: '{{doctor}}!' }, { doctor: 'Who' }, 'a: Who!'],
  ])(
    'that %s is that of a message for which the text before it lacked a value',
    async (_, change, values, text) => {
      const own = await outboxFixture(redis, prefix);
      await own.put('a');
      const claims = await own.claim();
      await own.set({ message: '{{name}}, see {{doctor}}' });
      await own.settle(claims, 'released');
      expect(await own.claim()).toEqual([]);
      await own.tend();
      own.advance(1_000);
      expect(await own.claim()).toEqual([]);
      await own.set(change, { values });
      expect(await claimed(own)).toEqual([text]);
    },
  );

  test('refuses a put that was checked by the settings before it', async () => {
    const own = await outboxFixture(redis, prefix);
    const before = (await own.read()).edition;
    const late = outboxStore(own.laneStore, own.name, { edition: before });
    await own.set({ message: '{{doctor}}' });
    const entry = { id: 'late', message: NOW };
    await expect(late.put([entry], own.now())).rejects.toMatchObject({ state: 'changed' });
    expect(await own.counts()).toMatchObject({ total: 0 });
  });

  test('may be set by two at once: both are done, one after the other', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.put('a');
    await Promise.all([own.set({ message: 'Hello {{name}}' }), own.set({ sender: '67890' })]);
    const { settings } = await own.read();
    expect(settings).toMatchObject({ message: 'Hello {{name}}', sender: '67890', revision: 2 });
    await own.tend();
    expect(await claimed(own)).toEqual(['a: Hello Ada']);
  });
});

describe('A new rule for times', () => {
  const rule = { message: 'Hi', sendRule: 'visit - 24h', zone: 'UTC' };

  test('moves messages without a time of their own, also after the process that set it has died', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.set(rule);
    const visit = own.now() + 30 * HOUR_MS;
    const values = ['', iso(visit)];
    await own.put('rule', 6 * HOUR_MS, { values });
    await own.put('own', 6 * HOUR_MS, { values, hasOwnTime: true });
    const later = { sendRule: 'visit - 2h' };
    expect(await own.set(later, { isPreview: true })).toMatchObject({ waiting: 2, moved: 1, lapsing: 0 });
    await expect(own.set(later, { over: own.dyingAfterChange() })).rejects.toThrow('dead');
    own.advance(6 * HOUR_MS + 1_000);
    await own.tend();
    expect(await claimed(own)).toEqual(['own: Hi']);
    own.advance(22 * HOUR_MS);
    await own.tend();
    expect(await claimed(own)).toEqual(['rule: Hi']);
  });

  test('applies to a message that is too late only by the rule before it', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.set({ ...rule, sendRule: 'visit - 2h', lateMs: 2 * HOUR_MS });
    await own.put('a', HOUR_MS, { values: ['', iso(own.now() + 3 * HOUR_MS)] });
    await own.put('own', HOUR_MS, { values: ['', ''], hasOwnTime: true });
    own.advance(HOUR_MS + 600_000);
    const later = { sendRule: 'visit - 1h', lateMs: 300_000 };
    expect(await own.set(later, { isPreview: true })).toMatchObject({ moved: 1, lapsing: 1 });
    await expect(own.set(later, { over: own.dyingAfterChange() })).rejects.toThrow('dead');
    await own.lapseDue();
    expect(await own.claim()).toEqual([]);
    await own.lapseDue();
    expect(await own.statesOf('a', 'own')).toEqual(['planned', 'planned']);
    own.advance(REWRITE_LEASE_MS);
    await own.tend();
    await own.lapseDue();
    expect(await own.statesOf('a', 'own')).toEqual(['planned', 'lapsed']);
    own.advance(50 * 60_000 - REWRITE_LEASE_MS);
    expect(await claimed(own)).toEqual(['a: Hi']);
  });

  test('lets messages lapse whose time is over, and says so before', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.set(rule);
    await own.put('soon', HOUR_MS, { values: ['', iso(own.now() + 25 * HOUR_MS)] });
    await own.put('due', 24 * HOUR_MS, { values: ['', iso(own.now() + 48 * HOUR_MS)] });
    const earlier = { sendRule: 'visit - 2d' };
    expect(await own.set(earlier)).toMatchObject({ waiting: 2, moved: 2, lapsing: 1, dueNow: 1 });
    await own.tend();
    expect(await claimed(own)).toHaveLength(1);
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2, waiting: 0, lapsed: 1 });
  });

  test('is refused if a value is no time', async () => {
    const own = await outboxFixture(redis, prefix);
    await own.put('a', HOUR_MS, { values: ['Ada'] });
    await expect(own.set({ sendRule: 'name - 1h', zone: 'UTC' })).rejects.toThrow('`name` is "Ada"');
  });
});
