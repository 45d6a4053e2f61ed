import { expect, test } from 'vitest';
import { problemFinder } from '../../../src/intake/schedules/problem.js';
import type { StoredSchedule } from '../../../src/intake/schedules/stored-schedule.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { MONDAY, scheduleFixture } from './fixture.js';

const { prefix, redis } = testRedis('schedule-problem');
const MINUTE = 60_000;

test('A schedule that no worker runs says so five minutes after it was due, or was to be run', async () => {
  const own = scheduleFixture(redis, prefix);
  await own.add('daily');
  const stored = await own.store.read('daily');
  if (stored === null) throw new Error('no schedule');
  const provided: StoredSchedule = {
    ...stored,
    definition: { ...stored.definition, source: { kind: 'provided', name: 'customers' } },
  };
  const problemOf = (schedule: StoredSchedule) => problemFinder(own.store, async () => [])(schedule);
  own.setNow(MONDAY + 4 * MINUTE);
  expect(await problemOf(provided)).toBeNull();
  own.setNow(MONDAY + 6 * MINUTE);
  expect(await problemOf(provided)).toBe(
    `no worker has run it since ${new Date(MONDAY).toISOString()}, when it was due: start one that serves its lane and provides the list customers`,
  );
  expect(await problemOf({ ...provided, waiting: MONDAY })).toBeNull();
  // A worker has it in hand.
  await own.setDue('daily', MONDAY + 7 * MINUTE);
  expect(await problemOf(provided)).toBeNull();
  await own.setDue('daily', MONDAY);
  expect(await problemOf({ ...provided, state: 'paused' })).toBeNull();
  const run = { ...stored, next: MONDAY + 60 * MINUTE, run: MONDAY };
  expect(await problemOf(run)).toMatch(/start one that serves its lane$/);
});
