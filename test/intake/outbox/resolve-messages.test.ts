import { expect, test } from 'vitest';
import type { VolleyEvent } from '../../../src/base/events/events.js';
import { resolveMessages } from '../../../src/engine/sending/unknown.js';
import { OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { outboxFixture } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-resolve');

/** An outbox with three messages, all of which are unknown. */
async function unknownFixture() {
  const own = await outboxFixture(redis, prefix);
  await own.putAllNow(['a', 'b', 'c']);
  await own.settle(await own.claim(), 'unknown');
  const emitted: VolleyEvent[] = [];
  const lane = {
    ...own.laneStore,
    name: own.laneId,
    emit: () => {},
    status: async () => ({ now: own.now(), sendAt: -1, pollAt: -1 }),
  };
  const resolving = {
    wakers: { wake: async () => {} },
    events: { emit: (event: VolleyEvent) => void emitted.push(event) },
    by: OPERATOR,
    now: own.now(),
  };
  return {
    ...own,
    emitted,
    resolve: (resolution: Parameters<typeof resolveMessages>[2]) =>
      resolveMessages(
        lane as unknown as Parameters<typeof resolveMessages>[0],
        own.name,
        resolution,
        resolving,
      ),
  };
}

test('An operator settles one message by its id, and then all others', async () => {
  const own = await unknownFixture();
  expect(await own.resolve({ as: 'accepted', message: 'b' })).toMatchObject({ requests: 1, tooEarly: null });
  expect(await own.statesOf('a', 'b', 'c')).toEqual(['unknown', 'unconfirmed', 'unknown']);
  expect(own.emitted).toMatchObject([
    { type: 'request.resolved', campaign: null, outbox: 'dentist', message: 'b', requests: 1 },
  ]);
  expect(await own.resolve({ as: 'abandon' })).toMatchObject({ requests: 2, recipientCount: 2 });
  expect(await own.statesOf('a', 'b', 'c')).toEqual(['abandoned', 'unconfirmed', 'abandoned']);
  expect(await own.counts()).toMatchObject({ total: 3, sum: 3, abandoned: 2, unconfirmed: 1 });
  expect(await own.resolve({ as: 'abandon' })).toMatchObject({ requests: 0 });
});

test('A message that an operator sends again is claimed again, and has one result', async () => {
  const own = await unknownFixture();
  expect(await own.resolve({ as: 'resend', message: 'a' })).toMatchObject({ requests: 1 });
  // The lane backs off after requests without a response.
  own.advance(10_000);
  const claims = await own.claim();
  expect(await own.idsOf(claims)).toEqual(['a']);
  await own.settle(claims, 'accepted');
  expect(await own.statesOf('a', 'b')).toEqual(['deliveredToNetwork', 'unknown']);
  expect(await own.counts()).toMatchObject({ total: 3, sum: 3, deliveredToNetwork: 1, unknown: 2 });
});

test('A message without an unknown outcome cannot be resolved, and the error names it', async () => {
  const own = await unknownFixture();
  await own.put('later', 60_000);
  for (const message of ['later', 'never-put'])
    await expect(own.resolve({ as: 'abandon', message })).rejects.toThrow(
      `outbox dentist has no message ${message} with an unknown outcome`,
    );
  expect(await own.statesOf('a', 'later')).toEqual(['unknown', 'planned']);
});
