import { beforeEach, describe, expect, test } from 'vitest';
import { systemMachine } from '../../../src/base/clock.js';
import type { FieldOf } from '../../../src/campaign/field-sets.js';
import { readMeta } from '../../../src/engine/lane/campaign-meta.js';
import { readState } from '../../../src/engine/lane/campaigns.js';
import { type CampaignInput, checkCampaign } from '../../../src/intake/import/campaign-input.js';
import { previewChecked } from '../../../src/intake/import/import-campaign.js';
import { checkInput, type ScheduleInput } from '../../../src/intake/schedules/input.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { mobile } from '../import/import-fixture.js';
import { DAY, HOUR, MONDAY, scheduleFixture } from './fixture.js';

const { prefix, redis } = testRedis('schedules');
let run = 0;
let fixture: ReturnType<typeof scheduleFixture>;
beforeEach(() => {
  run += 1;
  fixture = scheduleFixture(redis, `${prefix}-${run}`);
});

/** Marks all messages of a campaign as sent. */
async function sent(id: string): Promise<void> {
  const { keys, lane } = fixture;
  const state = await readState(redis, keys, lane, id);
  const counts = { deliveredToNetwork: state?.total ?? 0 };
  await redis.hset(keys.lane(lane, 'states'), id, JSON.stringify({ ...state, counts }));
}

describe('A schedule that is due', () => {
  test('creates one campaign, in its own name, and is due next a day later', async () => {
    const { add, sweep, setNow, campaigns, outcomes, store, keys, lane, emitted } = fixture;
    await add('daily');
    await sweep();
    expect(await campaigns()).toEqual([]);
    setNow(MONDAY + 500);
    await sweep();
    await sweep();
    const [id = ''] = await campaigns();
    expect(await outcomes('daily')).toEqual(['created 0']);
    expect(await readMeta(redis, keys, lane, id)).toMatchObject({
      name: 'daily',
      text: 'Hello',
      createdBy: { kind: 'schedule', id: 'daily', name: 'daily' },
      idempotencyKey: `schedule:${lane}:daily:2030-05-06T09:00:00.000Z`,
    });
    expect(await store.read('daily')).toMatchObject({ next: MONDAY + DAY, lastCampaign: id });
    expect(emitted).toContainEqual(
      expect.objectContaining({ type: 'schedule.ran', schedule: 'daily', at: MONDAY, campaign: id }),
    );
  });

  test('creates a campaign with every field that it was added with', async () => {
    const { deps, config, keys, lane, occurDeps, add, setNow, sweep, campaigns } = scheduleFixture(
      redis,
      `${prefix}-${run}-priced`,
      { PRICE_PER_SEGMENT: '0.04 EUR' },
    );
    const fields: { readonly [Name in FieldOf<'schedule'>]: unknown } & { message: string } = {
      message: 'Hi {{name}}',
      sender: '447700900000',
      senderName: 'Shop',
      lane,
      name: 'Reminders',
      tags: ['spring', 'vip'],
      metadata: { shop: '17' },
      toColumn: 'phone',
      country: 'GB',
      countryColumn: 'home',
      priority: 'high',
      validForMs: 2 * HOUR,
      window: 'Mon-Sun 00:00-24:00',
      except: ['2030-12-25'],
      duplicates: 'keep',
      skipInvalid: true,
      maxCost: '50',
    };
    const recipients = [{ to: '', phone: mobile(1), name: 'Ada', home: 'GB' }];
    const given = { id: 'full', cron: '0 9 * * *', zone: 'Europe/London', recipients, ...fields };
    const { definition } = await checkInput(given as ScheduleInput, {
      now: MONDAY,
      laneNamed: deps.laneNamed,
      check: async (input) => checkCampaign(config, input, MONDAY),
      preview: (campaign) => previewChecked(deps, campaign),
    });
    await add('full', { ...definition, zone: 'UTC' }, recipients);
    const enqueued: CampaignInput[] = [];
    setNow(MONDAY + 500);
    await sweep({
      enqueue(input, ...who) {
        enqueued.push(input);
        return occurDeps.enqueue(input, ...who);
      },
    });
    expect(enqueued[0]).toMatchObject({ ...fields, zone: 'Europe/London' });
    const [id = ''] = await campaigns();
    expect(await readMeta(redis, keys, lane, id)).toMatchObject({
      tags: ['spring', 'vip'],
      metadata: { shop: '17' },
    });
  });

  test('creates one campaign, although two workers look at the same time', async () => {
    const { add, setNow, sweep, keys, store, campaigns, outcomes } = fixture;
    await add('daily');
    setNow(MONDAY);
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow = sweep({
      enqueue: async (...args) => {
        await gate;
        return fixture.occurDeps.enqueue(...args);
      },
    });
    // The first worker was stopped for longer than it held the schedule.
    await redis.zadd(keys.schedules.due, 'XX', MONDAY, 'daily');
    await expect.poll(async () => redis.zscore(keys.schedules.due, 'daily')).not.toBe(String(MONDAY + DAY));
    await redis.zadd(keys.schedules.due, MONDAY, 'daily');
    await sweep();
    go();
    await slow;
    expect(await campaigns()).toHaveLength(1);
    expect(await outcomes('daily')).toEqual(['created 0']);
    expect(await store.read('daily')).toMatchObject({ counts: { created: 1 }, next: MONDAY + DAY });
  });

  test('creates no campaign after another worker has recorded it as missed', async () => {
    const { add, setNow, sweep, store, keys, occurDeps, campaigns, outcomes } = fixture;
    await add('hourly', { cron: '0 * * * *' });
    setNow(MONDAY);
    // This worker stands still before it creates the campaign, and dies after that.
    await sweep({
      store: { ...store, advance: () => Promise.reject(new Error('died')) },
      enqueue: async (...args) => {
        await redis.zadd(keys.schedules.due, MONDAY, 'hourly');
        setNow(MONDAY + HOUR);
        await sweep();
        return occurDeps.enqueue(...args);
      },
    });
    expect(await outcomes('hourly')).toEqual(['missed 0', 'created 1']);
    expect(await campaigns()).toHaveLength(1);
    expect(await store.read('hourly')).toMatchObject({ next: MONDAY + 2 * HOUR });
  });

  test('creates no campaign if its only worker stood still for longer than it held the schedule', async () => {
    const { add, setNow, sweep, occurDeps, campaigns, outcomes } = fixture;
    await add('daily');
    setNow(MONDAY);
    let stoodStillMs = 0;
    const monotonic = (): number => systemMachine.monotonic() + stoodStillMs;
    await sweep(
      {
        enqueue: (...args) => {
          stoodStillMs = 2 * HOUR;
          setNow(MONDAY + 2 * HOUR);
          return occurDeps.enqueue(...args);
        },
      },
      { timing: { ...systemMachine, monotonic } },
    );
    expect(await campaigns()).toEqual([]);
    await sweep();
    expect(await outcomes('daily')).toEqual(['missed 0']);
    expect(await campaigns()).toEqual([]);
  });

  test('is created beside many others with short lists, and beside few whose lists may be long', async () => {
    const { add, setNow, sweep, provided, occurDeps, campaigns } = fixture;
    provided.set('customers', () => [{ to: mobile(1) }]);
    for (let at = 0; at < 8; at += 1) {
      await add(`short-${at}`);
      await add(`long-${at}`, { source: { kind: 'provided', name: 'customers' } });
    }
    setNow(MONDAY);
    const inProgress = { short: 0, long: 0 };
    const most = { ...inProgress };
    let go = (): void => {};
    const allowed = new Promise<void>((resolve) => {
      go = resolve;
    });
    const swept = sweep({
      enqueue: async (input, ...who) => {
        const kind = input.name?.startsWith('short') ? 'short' : 'long';
        inProgress[kind] += 1;
        most[kind] = Math.max(most[kind], inProgress[kind]);
        await allowed;
        // Otherwise all have the same content.
        const outcome = await occurDeps.enqueue({ ...input, again: true }, ...who);
        inProgress[kind] -= 1;
        return outcome;
      },
    });
    await expect.poll(() => ({ ...most })).toEqual({ short: 8, long: 5 });
    go();
    await swept;
    expect(most).toEqual({ short: 8, long: 5 });
    expect(await campaigns()).toHaveLength(16);
  });

  test('is held for as long as its worker reads the list', async () => {
    const { add, setNow, sweep, store, occurDeps, keys, campaigns } = fixture;
    await add('daily');
    setNow(MONDAY);
    let passedMs = 0;
    let ring = (): void => {};
    const timing = {
      clock: () => passedMs,
      monotonic: () => passedMs,
      uptime: () => passedMs,
      alarm: (_ms: number, call: () => void) => {
        ring = call;
        return () => {};
      },
    };
    const held: number[] = [];
    await sweep(
      {
        enqueue: async (...args) => {
          for (let round = 0; round < 6; round += 1) {
            passedMs += 10_000;
            ring();
            const due = (): Promise<number> =>
              redis.zscore(keys.schedules.due, 'daily').then((at) => Number(at) - MONDAY);
            await expect.poll(due).toBe(passedMs + 30_000);
            held.push(await due());
          }
          return occurDeps.enqueue(...args);
        },
      },
      { timing },
    );
    expect(held.at(-1)).toBe(90_000);
    expect(await campaigns()).toHaveLength(1);
    expect(await store.read('daily')).toMatchObject({ next: MONDAY + DAY });
    expect(await redis.zscore(keys.schedules.due, 'daily')).toBe(String(MONDAY + DAY));
  });

  test('returns the campaign that exists, if its worker died before the schedule was advanced', async () => {
    const { add, setNow, sweep, store, campaigns, outcomes, errors, keys } = fixture;
    await add('daily');
    setNow(MONDAY);
    const died = { ...store, advance: () => Promise.reject(new Error('died')) };
    await sweep({ store: died });
    expect(errors).toEqual([new Error('died')]);
    expect(await outcomes('daily')).toEqual([]);
    const before = await campaigns();
    expect(before).toHaveLength(1);
    // The list is another one by now, and the occurrence is late: neither matters, because its campaign exists.
    await redis.hset(keys.schedules.one('daily'), 'recipients', JSON.stringify([{ to: mobile(9) }]));
    setNow(MONDAY + 5 * HOUR);
    await sweep();
    expect(await campaigns()).toEqual(before);
    expect(await outcomes('daily')).toEqual(['created 0']);
  });

  test('is recorded with its campaign, even if a later occurrence is due by then', async () => {
    const { add, setNow, sweep, store, campaigns, outcomes } = fixture;
    await add('hourly', { cron: '0 * * * *' });
    setNow(MONDAY);
    await sweep({ store: { ...store, advance: () => Promise.reject(new Error('died')) } });
    setNow(MONDAY + HOUR);
    await sweep();
    // The campaign still has messages to send.
    expect(await outcomes('hourly')).toEqual(['created 0', 'skipped 1']);
    expect(await campaigns()).toHaveLength(1);
  });

  test('is left to workers that serve its lane and have its list', async () => {
    const { add, setNow, sweep, campaigns, provided, keys } = fixture;
    await add('provided', { source: { kind: 'provided', name: 'customers' } });
    setNow(MONDAY);
    await sweep();
    expect(await redis.zscore(keys.schedules.due, 'provided')).toBe(String(MONDAY));
    const asked: Date[] = [];
    provided.set('customers', async function* ({ at }) {
      asked.push(at);
      yield { to: mobile(1) };
    });
    await sweep({ laneName: () => undefined });
    expect(await campaigns()).toEqual([]);
    await sweep();
    expect(await campaigns()).toHaveLength(1);
    expect(asked).toEqual([new Date(MONDAY)]);
  });

  test('stays due if the process stops while the list is read', async () => {
    const { add, setNow, sweep, campaigns, provided, outcomes, keys } = fixture;
    await add('provided', { source: { kind: 'provided', name: 'customers' } });
    setNow(MONDAY);
    const control = new AbortController();
    provided.set('customers', async function* () {
      control.abort(new Error('stopped'));
      yield { to: mobile(1) };
    });
    await sweep({}, { signal: control.signal });
    expect(await redis.zscore(keys.schedules.due, 'provided')).toBe(String(MONDAY));
    provided.set('customers', () => [{ to: mobile(1) }]);
    await sweep();
    expect(await campaigns()).toHaveLength(1);
    expect(await outcomes('provided')).toEqual(['created 0']);
  });
});

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
      expect.objectContaining({ type: 'schedule.missed', at: MONDAY, occurrences: 2 }),
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
    const { add, setNow, sweep, outcomes, store, emitted, keys } = fixture;
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
    expect(await redis.smembers(keys.schedules.failing)).toEqual(['daily']);
    await store.change('daily', 'resume', { next: MONDAY + 4 * DAY });
    expect(await redis.smembers(keys.schedules.failing)).toEqual([]);
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

describe('An operator', () => {
  test('runs a schedule once, besides its occurrences, also while it is paused', async () => {
    const { add, setNow, sweep, campaigns, store } = fixture;
    await add('daily', { overlap: 'allow' });
    await store.change('daily', 'pause', { reason: 'by a test' });
    const first = await store.change('daily', 'run');
    expect(await store.change('daily', 'run')).toEqual({ ...first, result: 'unchanged' });
    await sweep();
    await sweep();
    expect(await campaigns()).toHaveLength(1);
    expect(await store.occurrences('daily', 9)).toMatchObject([
      { at: first.run, outcome: 'created', manual: true },
    ]);
    await store.change('daily', 'resume', { next: MONDAY });
    setNow(MONDAY);
    await sweep();
    expect(await campaigns()).toHaveLength(2);
  });

  test('pauses a schedule while a worker reads its list: it stays paused, and creates no campaign', async () => {
    const { add, setNow, sweep, store, outcomes, campaigns, keys } = fixture;
    await add('daily');
    setNow(MONDAY);
    await sweep({
      enqueue: async (...args) => {
        await store.change('daily', 'pause', { reason: 'by a test' });
        return fixture.occurDeps.enqueue(...args);
      },
    });
    expect(await campaigns()).toEqual([]);
    expect(await outcomes('daily')).toEqual([]);
    expect(await store.read('daily')).toMatchObject({ state: 'paused', reason: 'by a test' });
    expect(await redis.zscore(keys.schedules.due, 'daily')).toBeNull();
  });

  test('pauses a schedule when its campaign exists already: it stays paused, and its campaign is recorded', async () => {
    const { add, setNow, sweep, store, outcomes, keys } = fixture;
    await add('daily');
    setNow(MONDAY);
    await sweep({
      enqueue: async (...args) => {
        const outcome = await fixture.occurDeps.enqueue(...args);
        await store.change('daily', 'pause', { reason: 'by a test' });
        return outcome;
      },
    });
    expect(await outcomes('daily')).toEqual(['created 0']);
    expect(await store.read('daily')).toMatchObject({ state: 'paused', reason: 'by a test' });
    expect(await redis.zscore(keys.schedules.due, 'daily')).toBeNull();
  });

  test('runs a schedule, and pauses or resumes it before the run: it runs all the same', async () => {
    const { add, setNow, sweep, store, campaigns } = fixture;
    await add('daily', { overlap: 'allow' });
    for (const [at, change] of (['pause', 'resume'] as const).entries()) {
      setNow(MONDAY - HOUR + 1_000 * at);
      await store.change('daily', 'run');
      await store.change('daily', change, { next: MONDAY });
      await sweep();
    }
    expect(await store.read('daily')).toMatchObject({ state: 'active', run: 0, next: MONDAY });
    expect(await campaigns()).toHaveLength(2);
  });

  test('removes a schedule while a worker reads its list: nothing of it remains', async () => {
    const { add, setNow, sweep, store, campaigns, keys } = fixture;
    await add('daily');
    setNow(MONDAY);
    await sweep({
      enqueue: async (...args) => {
        await store.change('daily', 'remove');
        return fixture.occurDeps.enqueue(...args);
      },
    });
    expect(await store.read('daily')).toBeNull();
    expect(await campaigns()).toEqual([]);
    expect(await redis.keys(`${keys.schedules.ids.replace(/ids$/, '')}*`)).toEqual([]);
  });
});
