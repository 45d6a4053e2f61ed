import { expect, test } from 'vitest';
import { commandStore } from '../../../src/engine/lane/lane.js';
import { cancelAllWaiting } from '../../../src/intake/outbox/cancel-all.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { outboxFixture, RETENTION_MS } from './outbox-fixture.js';

const { redis, prefix } = testRedis('cancel-planned');

test('Messages that are planned and not claimed are cancelled with those that wait', async () => {
  const own = await outboxFixture(redis, prefix);
  for (const id of ['a', 'b', 'c']) await own.put(id);
  expect(await own.tend()).toMatchObject({ planned: 3 });
  await own.put('later', 3_600_000);
  const { campaign, ...others } = commandStore(own.laneStore);
  const lane = {
    ...own.laneStore,
    clock: own.now,
    emit: () => {},
    commands: {
      ...others,
      campaign: (action: 'pause' | 'resume' | 'cancel', id: string, reason?: string) =>
        campaign(action, id, reason, own.now()),
    },
  };
  expect(await cancelAllWaiting(lane, own.name, RETENTION_MS, 'a test')).toEqual({
    cancelled: 4,
    inFlight: 0,
  });
  const states = await own.states();
  expect(states.map(({ counts }) => [counts.planned ?? 0, counts.cancelled])).toEqual([[0, 3]]);
});
