import { describe, expect, test } from 'vitest';
import { commandStore } from '../../../src/engine/lane/lane.js';
import { checkOldCampaigns } from '../../../src/engine/recovery/old-campaigns.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { outboxStore } from '../../../src/intake/outbox/messages/store.js';
import { tendOutbox } from '../../../src/intake/outbox/waves/tend-outbox.js';
import { forgetWave } from '../../../src/intake/outbox/waves/wave.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { LATE_MS, NOW, outboxFixture, RETENTION_MS } from './outbox-fixture.js';
import { storedOutbox } from './stored-outbox.js';

const { redis, prefix } = testRedis('due-mark');

/** An outbox whose only message was sent and is final, so that any command may end its wave. */
async function sentOutbox() {
  const own = await outboxFixture(redis, prefix);
  await own.put('sent');
  await own.tend();
  await own.settle(await own.claim(), 'accepted');
  own.advance(60_000);
  const { claims } = await own.claims.poll({ turn: 'p', call: 1, want: 1, now: own.now() });
  await own.settlements.poll(
    claims.map((claim) => ({ claim, result: 'infos', letters: 'T', requestId: '', reason: '' })),
    0.5,
    own.now(),
  );
  return own;
}

type Sent = Awaited<ReturnType<typeof sentOutbox>>;

const ENDS: readonly (readonly [how: string, end: (own: Sent) => Promise<unknown>])[] = [
  ['everything in it is cancelled', (own) => own.cancelAll()],
  [
    'it reaches the maximum age of a campaign',
    async (own) => {
      const maxCampaignAgeMs = 3_600_000;
      own.advance(maxCampaignAgeMs);
      await checkOldCampaigns(
        {
          ...{ redis, keys: own.keys, events: { emit: () => {} }, retentionMs: RETENTION_MS },
          ...{ maxCampaignAgeMs, followUpPastMaxAgeMs: 0, discardImport: async () => {} },
          removeCampaign: async () => {},
          finder: {
            withId: async () => ({ ...own.laneStore, name: own.laneId, emit: () => {} }) as never,
            configured: async () => new Map(),
          },
        },
        own.now(),
      );
    },
  ],
  [
    'it is removed before anything else is put',
    async (own) => {
      await own.cancelAll();
      const [wave = ''] = await own.waves();
      await forgetWave(own.laneStore, wave);
      await removeCampaign(redis, own.keys, own.laneStore.id, wave);
    },
  ],
];

describe('A wave that its outbox still names', () => {
  test.each(ENDS)('ends when %s, and the next message is sent in a new one', async (_, end) => {
    const own = await sentOutbox();
    await end(own);
    const ended = await own.states();
    expect(ended.every(({ endedAt }) => endedAt > 0)).toBe(true);
    expect((await own.putNow('next')).outcome).toBe('created');
    expect(await own.tendDue()).toMatchObject({ planned: 1 });
    expect(await own.idsOf(await own.claim())).toEqual(['next']);
    expect(await own.states()).toHaveLength(ended.length + 1);
  });
});

/** Marked as due at once: more than are tended together. */
const MANY = 101;

test.each(['outbox', 'wave'] as const)(
  'Paused outboxes whose messages are due do not hold up others (paused: each %s)',
  async (paused) => {
    const own = await outboxFixture(redis, prefix);
    const store = commandStore(own.laneStore);
    for (let at = 0; at < MANY; at += 1) {
      const other = storedOutbox(own.laneStore, `other-${at}`);
      await other.create();
      const put = (id: string) =>
        outboxStore(own.laneStore, `other-${at}`, { lateMs: LATE_MS }).put([{ id, message: NOW }], {
          now: own.now(),
        });
      if (paused === 'outbox') await other.change({ state: 'paused' });
      else {
        await put('first');
        const options = { random: Math.random, clock: own.now, retentionMs: RETENTION_MS, now: own.now() };
        await tendOutbox(own.laneStore, `other-${at}`, options);
        for (const wave of await other.waves()) await store.campaign('pause', wave, 'a test', own.now());
      }
      await put('due');
    }
    own.advance(1_000);
    await own.put('next');
    await own.tendDue();
    expect(await own.tendDue()).toMatchObject({ planned: 1 });
    expect(await own.idsOf(await own.claim())).toEqual(['next']);
  },
);

test('What is due in a paused outbox lapses on time', async () => {
  const own = await outboxFixture(redis, prefix);
  await own.change({ state: 'paused' });
  await own.put('first');
  own.advance(10_000);
  await own.put('second');
  expect(await own.tendDue()).toMatchObject({ planned: 0, lapsed: 0 });
  for (const wait of [LATE_MS - 10_000, 10_000]) {
    own.advance(wait - 1);
    expect(await own.tendDue()).toMatchObject({ lapsed: 0 });
    own.advance(1);
    expect(await own.tendDue()).toMatchObject({ planned: 0, lapsed: 1 });
  }
});

test('An outbox that is created again while its predecessor is tended is marked as due', async () => {
  const own = await outboxFixture(redis, prefix);
  const again = storedOutbox(own.laneStore, 'again');
  const between = new Proxy(redis, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (property !== 'hmget' || typeof member !== 'function') return member;
      return async (...args: unknown[]): Promise<unknown> => {
        const found: unknown = await Reflect.apply(member, target, args);
        await again.create();
        const options = { now: own.now() };
        await outboxStore(own.laneStore, 'again', { lateMs: LATE_MS }).put(
          [{ id: 'next', message: NOW }],
          options,
        );
        return found;
      };
    },
  });
  const options = { random: Math.random, clock: own.now, retentionMs: RETENTION_MS, now: own.now() };
  await tendOutbox({ ...own.laneStore, redis: between }, 'again', options);
  expect(await again.dueAt()).not.toBeNull();
  expect(await own.tendDue()).toMatchObject({ planned: 1 });
});
