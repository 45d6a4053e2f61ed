import { expect, test } from 'vitest';
import { commandStore } from '../../../src/engine/lane/lane.js';
import { outboxId } from '../../../src/engine/recipients/outbox-messages.js';
import { checkOldCampaigns } from '../../../src/engine/recovery/old-campaigns.js';
import { outboxStore } from '../../../src/intake/outbox/messages/store.js';
import { tendOutboxes } from '../../../src/intake/outbox/tending/tend-lane.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { LATE_MS, NOW, OPEN_FOR_MS, outboxFixture, RETENTION_MS } from './outbox-fixture.js';
import { storedOutbox } from './stored-outbox.js';

const { redis, prefix } = testRedis('due-mark');

test('The next message is sent although everything that was put before is final', async () => {
  const own = await outboxFixture(redis, prefix);
  await own.put('sent');
  await own.settle(await own.claim(), 'accepted');
  own.advance(60_000);
  const { claims } = await own.claims.poll({ turn: 'p', call: 1, want: 1, now: own.now() });
  await own.settlements.poll(
    claims.map((claim) => ({ claim, result: 'infos', letters: 'T', requestId: '', reason: '' })),
    0.5,
    own.now(),
  );
  await own.cancelAll();
  expect(await own.statesOf('sent')).toEqual(['deliveredToTerminal']);
  expect((await own.put('next')).outcome).toBe('created');
  expect(await own.idsOf(await own.claim())).toEqual(['next']);
  own.advance(2 * RETENTION_MS);
  await own.tend();
  await own.put('after all are forgotten');
  expect(await own.idsOf(await own.claim())).toEqual(['after all are forgotten']);
});

/** Marked as due at once: more than are tended together. */
const MANY = 101;

test('Paused outboxes whose messages are due do not hold up others', async () => {
  const own = await outboxFixture(redis, prefix);
  const { pause } = pausing(own);
  for (let at = 0; at < MANY; at += 1) {
    const name = `other-${at}`;
    await storedOutbox(own.laneStore, name).create();
    await outboxStore(own.laneStore, name, await editionOf(own, name)).put(
      [{ id: 'due', message: NOW }],
      own.now(),
    );
    await pause(name);
  }
  own.advance(1_000);
  await own.put('next');
  await own.claim();
  await own.claim();
  expect(await own.statesOf('next')).toEqual(['sending']);
});

type Own = Awaited<ReturnType<typeof outboxFixture>>;
const editionOf = async ({ laneStore }: Own, name: string): Promise<{ edition: string }> => ({
  edition: (await storedOutbox(laneStore, name).read()).edition,
});
function pausing({ laneStore, now }: Own) {
  const commands = commandStore(laneStore);
  return { pause: (name: string) => commands.campaign('pause', outboxId(name), 'a test', now()) };
}

test('An outbox never ends, also when it is older than a campaign may be', async () => {
  const own = await outboxFixture(redis, prefix);
  await own.put('sent');
  await own.settle(await own.claim(), 'accepted');
  own.advance(OPEN_FOR_MS);
  await checkOldCampaigns(
    {
      ...{ redis, keys: own.keys, events: { emit: () => {} }, retentionMs: RETENTION_MS },
      ...{ maxCampaignAgeMs: 3_600_000, followUpPastMaxAgeMs: 0, discardImport: async () => {} },
      removeCampaign: async () => {},
      finder: {
        withId: async () => ({ ...own.laneStore, name: own.laneId, emit: () => {} }) as never,
        configured: async () => new Map(),
      },
    },
    own.now(),
  );
  expect(await own.outboxState()).toMatchObject({ state: 'running', endedAt: 0 });
  await own.put('next');
  expect(await own.idsOf(await own.claim())).toEqual(['next']);
});

test('What is due in a paused outbox lapses on time', async () => {
  const own = await outboxFixture(redis, prefix);
  await pausing(own).pause(own.name);
  await own.put('first');
  own.advance(10_000);
  await own.put('second');
  expect(await own.tend()).toEqual({ lapsed: 0 });
  for (const wait of [LATE_MS - 10_000, 10_000]) {
    own.advance(wait - 1);
    expect(await own.tend()).toEqual({ lapsed: 0 });
    own.advance(1);
    expect(await own.tend()).toEqual({ lapsed: 1 });
  }
});

test('An outbox that is created again while its predecessor is tended is marked as due', async () => {
  const own = await outboxFixture(redis, prefix);
  const again = storedOutbox(own.laneStore, 'again');
  await redis.zadd(own.keys.lane(own.laneId, 'tending'), 0, 'again');
  const between = new Proxy(redis, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (property !== 'hgetall' || typeof member !== 'function') return member;
      return async (...args: unknown[]): Promise<unknown> => {
        const found: unknown = await Reflect.apply(member, target, args);
        await again.create();
        const store = outboxStore(own.laneStore, 'again', await editionOf(own, 'again'));
        await store.put([{ id: 'next', message: NOW }], own.now());
        return found;
      };
    },
  });
  const options = { clock: own.now, retentionMs: RETENTION_MS, openForMs: OPEN_FOR_MS, now: own.now() };
  await tendOutboxes({ ...own.laneStore, redis: between }, options);
  expect(await again.dueAt()).not.toBeNull();
  expect(await own.idsOf(await own.claim())).toEqual(['next']);
});
