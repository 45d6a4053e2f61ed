import { expect, test } from 'vitest';
import { listUnknown } from '../../../src/engine/sending/unknown.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { OPEN_FOR_MS, outboxFixture, RETENTION_MS } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-old');

test('A message whose outcome no operator resolves is abandoned when its follow-up would have ended, and then forgotten', async () => {
  const own = await outboxFixture(redis, prefix);
  await own.put('a');
  const claims = await own.claim();
  await own.settle(claims, 'unknown');
  expect((await own.messages()).get('a')).toMatchObject({ state: 'unknown' });
  own.advance(OPEN_FOR_MS - 1);
  await own.tend();
  expect((await own.messages()).get('a')).toMatchObject({ state: 'unknown' });
  own.advance(1);
  // Hourly.
  own.advance(3_600_000);
  await own.tend();
  expect((await own.messages()).get('a')).toMatchObject({ state: 'abandoned' });
  expect(await listUnknown(own.laneStore)).toEqual([]);
  expect(await own.counts()).toMatchObject({ total: 1, sum: 1, abandoned: 1 });
  own.advance(RETENTION_MS + 3_600_000);
  await own.tend();
  expect((await own.messages()).size).toBe(0);
});
