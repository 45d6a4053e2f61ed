import { beforeEach, describe, expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { mobile } from '../import/import-fixture.js';
import { DAY, HOUR, MONDAY, scheduleFixture } from './fixture.js';

const { prefix, redis } = testRedis('schedules-late');
let run = 0;
let fixture: ReturnType<typeof scheduleFixture>;
beforeEach(() => {
  run += 1;
  fixture = scheduleFixture(redis, `${prefix}-${run}`);
});

/** Marks all messages of a campaign as sent. */
async function sent(id: string, change: object = {}): Promise<void> {
  const { total } = await fixture.stored.state(id);
  await fixture.stored.changeState(id, { counts: { deliveredToNetwork: total }, ...change });
}

describe('After downtime', () => {
  test('of three days, at most one occurrence runs, and the others are recorded as missed', async () => {
    const { add, setNow, sweep, campaigns, outcomes, store } = fixture;
    await add('daily');
    setNow(MONDAY + 3 * DAY + HOUR / 2);
    await sweep();
    expect(await outcomes('daily')).toEqual(['missed 0', 'missed 24', 'missed 48', 'created 72']);
    expect(await campaigns()).toHaveLength(1);
    expect(await store.read('daily')).toMatchObject({
      next: MONDAY + 4 * DAY,
      counts: { missed: 3, created: 1 },
    });
  });

  test('that lasts longer than the catch-up time, none runs', async () => {
    const { add, setNow, sweep, campaigns, outcomes, emitted } = fixture;
    await add('daily');
    setNow(MONDAY + DAY + HOUR + 1);
    await sweep();
    expect(await outcomes('daily')).toEqual(['missed 0', 'missed 24']);
    expect(await campaigns()).toEqual([]);
    expect(emitted).toContainEqual(
      expect.objectContaining({ type: 'schedule.missed', sendAt: MONDAY, occurrences: 2 }),
    );
  });

  test('every occurrence of a frequent schedule is counted, and the latest hundred are kept', async () => {
    const { add, setNow, sweep, campaigns, outcomes, store } = fixture;
    await add('often', { cron: '*/5 * * * *' });
    setNow(MONDAY + DAY);
    await sweep();
    const { counts } = (await store.read('often')) ?? {};
    // From 08:05 on Monday to 09:00 on Tuesday.
    expect(counts).toEqual({ created: 1, skipped: 0, missed: 299, failed: 0 });
    expect(await campaigns()).toHaveLength(1);
    const kept = await outcomes('often');
    expect(kept).toHaveLength(100);
    expect(kept.at(-1)).toBe('created 24');
  });
});

describe('While the last campaign still has messages to send', () => {
  test('an occurrence is skipped by default', async () => {
    const { add, setNow, sweep, campaigns, outcomes, store } = fixture;
    await add('daily');
    setNow(MONDAY);
    await sweep();
    const [id = ''] = await campaigns();
    setNow(MONDAY + DAY);
    await sweep();
    expect(await outcomes('daily')).toEqual(['created 0', 'skipped 24']);
    expect((await store.occurrences('daily', 1))[0]).toMatchObject({ campaign: id });
    // Delivery reports may take days; nothing is left to send.
    await sent(id);
    setNow(MONDAY + 2 * DAY);
    await sweep();
    expect(await outcomes('daily')).toEqual(['created 0', 'skipped 24', 'created 48']);
  });

  test.each([
    ['its own', { own: true }],
    ['that of its lane', { own: false }],
  ])(
    'an occurrence is skipped if the last campaign waited for %s window, and sent all as it opened',
    async (_, { own }) => {
      const { add, setNow, sweep, campaigns, outcomes, store, lane } = fixture;
      const window = 'Mon-Sun 09:00-17:00; UTC';
      const laneOf = (id: string) =>
        id === lane ? { name: id, window: own ? undefined : window } : undefined;
      await add('daily');
      const launchAt = MONDAY - HOUR / 2;
      setNow(launchAt);
      await store.change('daily', 'run');
      await sweep({ laneOf });
      const [id = ''] = await campaigns();
      await sent(id, { launchAt, ...(own && { window }) });
      setNow(MONDAY + 2_000);
      await sweep({ laneOf });
      setNow(MONDAY + DAY);
      await sweep({ laneOf });
      expect((await outcomes('daily')).slice(1)).toEqual(['skipped 0', 'created 24']);
    },
  );

  test('an occurrence is not skipped if the last campaign sent everything before it was due', async () => {
    const { add, setNow, sweep, campaigns, outcomes, store } = fixture;
    await add('daily');
    setNow(MONDAY - HOUR / 2);
    await store.change('daily', 'run');
    await sweep();
    const [id = ''] = await campaigns();
    await sent(id, { launchAt: MONDAY - HOUR / 2, window: 'Mon-Sun 08:59-17:00; UTC' });
    setNow(MONDAY + 2_000);
    await sweep();
    expect((await outcomes('daily')).slice(1)).toEqual(['created 0']);
  });

  test('an occurrence waits with `wait`, however long', async () => {
    const { add, setNow, sweep, campaigns, outcomes } = fixture;
    await add('daily', { overlap: 'wait' });
    setNow(MONDAY);
    await sweep();
    const [id = ''] = await campaigns();
    for (let hours = 24; hours < 27; hours += 0.5) {
      setNow(MONDAY + hours * HOUR);
      await sweep();
    }
    expect(await outcomes('daily')).toEqual(['created 0']);
    await sent(id);
    setNow(MONDAY + 27 * HOUR);
    await sweep();
    expect(await outcomes('daily')).toEqual(['created 0', 'created 24']);
  });

  test('an occurrence that no worker has seen waiting for too long is missed, also if an operator runs the schedule', async () => {
    const { add, setNow, sweep, outcomes, store } = fixture;
    await add('daily', { overlap: 'wait' });
    for (const hours of [0, 24]) {
      setNow(MONDAY + hours * HOUR);
      await sweep();
    }
    setNow(MONDAY + 29 * HOUR + 1);
    await store.change('daily', 'run');
    await sweep();
    expect(await outcomes('daily')).toEqual([
      'created 0',
      'missed 24',
      expect.stringContaining('created 29'),
    ]);
  });

  test('a later occurrence takes the place of one that waits', async () => {
    const { add, setNow, sweep, campaigns, outcomes } = fixture;
    await add('hourly', { overlap: 'wait', cron: '0 * * * *' });
    for (const hours of [0, 1, 2]) {
      setNow(MONDAY + hours * HOUR);
      await sweep();
    }
    const [id = ''] = await campaigns();
    expect(await outcomes('hourly')).toEqual(['created 0', 'skipped 1']);
    await sent(id);
    setNow(MONDAY + 2 * HOUR + 60_000);
    await sweep();
    expect(await outcomes('hourly')).toEqual(['created 0', 'skipped 1', 'created 2']);
  });

  test('an occurrence runs with `allow`', async () => {
    const { add, setNow, sweep, campaigns } = fixture;
    await add('daily', { overlap: 'allow' });
    for (const days of [0, 1]) {
      setNow(MONDAY + days * DAY);
      await sweep();
    }
    expect(await campaigns()).toHaveLength(2);
  });
});

describe('An occurrence that fails', () => {
  test('is recorded with its reason, and the third in a row pauses the schedule', async () => {
    const { add, setNow, sweep, outcomes, store, emitted, failing } = fixture;
    await add('daily', { source: { kind: 'file', path: '/nowhere/list.csv' } });
    for (const days of [0, 1, 2, 3]) {
      setNow(MONDAY + days * DAY);
      await sweep();
    }
    expect(await outcomes('daily')).toEqual(['failed 0', 'failed 24', 'failed 48']);
    expect(await store.read('daily')).toMatchObject({
      state: 'paused',
      reason: expect.stringMatching(/^3 occurrences in a row have failed; the last one: .*list\.csv/),
    });
    expect(emitted.filter(({ type }) => type === 'schedule.failed')).toHaveLength(3);
    expect(emitted).toContainEqual(expect.objectContaining({ type: 'schedule.paused', actor: null }));
    expect(await failing()).toEqual(['daily']);
    await store.change('daily', 'resume', { next: MONDAY + 4 * DAY });
    expect(await failing()).toEqual([]);
    expect(await store.read('daily')).toMatchObject({ state: 'active', failures: 0, reason: '' });
  });

  test('does not pause the schedule if another one runs in between', async () => {
    const { add, setNow, sweep, provided, outcomes, store } = fixture;
    await add('daily', { source: { kind: 'provided', name: 'customers' }, overlap: 'allow' });
    for (const days of [0, 1, 2, 3, 4]) {
      provided.set('customers', () => {
        if (days === 2) return [{ to: mobile(1) }];
        throw new Error('the database is away');
      });
      setNow(MONDAY + days * DAY);
      await sweep();
    }
    expect(await outcomes('daily')).toEqual([
      'failed 0',
      'failed 24',
      'created 48',
      'failed 72',
      'failed 96',
    ]);
    expect(await store.read('daily')).toMatchObject({ state: 'active', failures: 2 });
  });

  test('names the first invalid row without its content', async () => {
    const { add, setNow, sweep, store } = fixture;
    await add('daily', {}, [{ to: mobile(1) }, { to: 'secret' }]);
    setNow(MONDAY);
    await sweep();
    expect(await store.occurrences('daily', 1)).toMatchObject([
      { outcome: 'failed', reason: '1 of 2 rows is invalid, the first in line 2' },
    ]);
  });
});
