import { expect, test } from 'vitest';
import { pauseSchedulesOf } from '../../../src/intake/schedules/schedules.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { MONDAY, scheduleFixture } from './fixture.js';

const { prefix, redis } = testRedis('revoked-schedules');

test('A revoked key pauses its schedules and takes back its runs, even while a worker reads their lists', async () => {
  const { add, sweep, store, campaigns, dueAt, occurDeps, keys } = scheduleFixture(redis, prefix);
  const actor = { kind: 'key', id: '0123456789ab', name: 'shop' } as const;
  for (const id of ['own', 'asked', 'paused', 'other']) await add(id);
  await redis.hset(keys.schedules.one('own'), 'createdBy', JSON.stringify(actor));
  await store.change('paused', 'pause');
  for (const id of ['asked', 'paused'])
    await store.change(id, 'run', { runBy: { actor, limits: { recipientsPerDay: 9 } } });
  for (const id of ['own', 'other']) await store.change(id, 'run');
  await sweep({
    enqueue: async (...args) => {
      await pauseSchedulesOf(store, actor.id);
      return occurDeps.enqueue(...args);
    },
  });
  expect(await campaigns()).toHaveLength(1);
  expect(await store.occurrences('other', 9)).toMatchObject([{ outcome: 'created', manual: true }]);
  expect((await store.read('own'))?.state).toBe('paused');
  expect(await Promise.all(['own', 'asked', 'paused'].map(dueAt))).toEqual([null, MONDAY, null]);
});
