import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { mobile } from '../import/import-fixture.js';
import { DAY, MONDAY, scheduleFixture } from './fixture.js';

const { prefix, redis } = testRedis('schedules-cost');

test('An occurrence that costs more than the limit of its schedule fails with that reason; a cheaper one is created', async () => {
  const fixture = scheduleFixture(redis, prefix, { PRICE_PER_SEGMENT: '0.042 EUR' });
  const { add, sweep, setNow, campaigns, outcomes, store, provided } = fixture;
  let count = 3;
  provided.set('customers', function* () {
    for (let at = 0; at < count; at++) yield { to: mobile(at) };
  });
  await add('daily', {
    source: { kind: 'provided', name: 'customers' },
    campaign: { message: 'Hello', maxCost: '0.1' },
  });
  setNow(MONDAY);
  await sweep();
  expect(await campaigns()).toEqual([]);
  expect(await store.occurrences('daily', 1)).toMatchObject([
    { outcome: 'failed', reason: 'the campaign costs 0.126 EUR, which is more than the limit of 0.10 EUR' },
  ]);
  count = 2;
  setNow(MONDAY + DAY);
  await sweep();
  expect(await outcomes('daily')).toEqual(['failed 0', 'created 24']);
  expect(await campaigns()).toHaveLength(1);
});

test('An occurrence with a number that has no price fails, and names its row without the number', async () => {
  const fixture = scheduleFixture(redis, `${prefix}-file`, {
    PRICE_PER_SEGMENT: '',
    PRICE_FILE: new URL('./prices.csv', import.meta.url).pathname,
  });
  const { add, sweep, setNow, store } = fixture;
  await add('daily', { campaign: { message: 'Hello', maxCost: '10' } }, [
    { to: mobile(1) },
    { to: '+4520123456' },
  ]);
  setNow(MONDAY);
  await sweep();
  expect(await store.occurrences('daily', 1)).toMatchObject([
    {
      outcome: 'failed',
      reason: 'the number in line 2 has no price',
    },
  ]);
});
