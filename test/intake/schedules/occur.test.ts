import { beforeEach, describe, expect, test } from 'vitest';
import { systemMachine } from '../../../src/base/clock.js';
import type { FieldOf } from '../../../src/campaign/fields/field-sets.js';
import type { SomeLimits } from '../../../src/campaign/states/limit-values.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
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
      expect.objectContaining({ type: 'schedule.ran', schedule: 'daily', sendAt: MONDAY, campaign: id }),
    );
  });

  test('creates a campaign with every field that it was added with', async () => {
    const { deps, config, keys, lane, occurDeps, add, setNow, sweep, campaigns } = scheduleFixture(
      redis,
      `${prefix}-${run}-priced`,
      { PRICE_PER_SEGMENT: '0.04 EUR' },
    );
    const fields: { readonly [Name in Exclude<FieldOf<'schedule'>, 'toResultsOf' | 'template'>]: unknown } & {
      message: string;
    } = {
      message: 'Hi {{name}}',
      sender: '447700900000',
      senderName: 'Shop',
      lane,
      name: 'Reminders',
      tags: ['spring', 'vip'],
      metadata: { shop: '17' },
      toColumn: 'phone',
      sheet: 'List',
      headerLine: 3,
      country: 'GB',
      countryColumn: 'home',
      zoneColumn: 'zone',
      timeColumn: 'sendAt',
      zoneFrom: 'number',
      priority: 'high',
      validFor: '2h',
      window: { hours: 'Mon-Sun 00:00-24:00', except: ['2030-12-25'], zone: 'recipient' },
      duplicates: 'keep',
      skipInvalid: true,
      maxCost: '50',
    };
    const sendAt = new Date().toISOString();
    const recipients = [{ to: '', phone: mobile(1), name: 'Ada', home: 'GB', zone: '', sendAt }];
    const given = { id: 'full', cron: '0 9 * * *', zone: 'Europe/London', recipients, ...fields };
    const { definition } = await checkInput(given as ScheduleInput, {
      ...{ redis, keys, now: MONDAY, retentionMs: 30 * DAY },
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
    const { add, setNow, sweep, dueAt, setDue, store, campaigns, outcomes } = fixture;
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
    await setDue('daily', MONDAY);
    await expect.poll(() => dueAt('daily')).not.toBe(MONDAY + DAY);
    await setDue('daily', MONDAY);
    await sweep();
    go();
    await slow;
    expect(await campaigns()).toHaveLength(1);
    expect(await outcomes('daily')).toEqual(['created 0']);
    expect(await store.read('daily')).toMatchObject({ counts: { created: 1 }, next: MONDAY + DAY });
  });

  test('creates no campaign after another worker has recorded it as missed', async () => {
    const { add, setNow, sweep, store, setDue, occurDeps, campaigns, outcomes } = fixture;
    await add('hourly', { cron: '0 * * * *' });
    setNow(MONDAY);
    // This worker stands still before it creates the campaign, and dies after that.
    await sweep({
      store: { ...store, advance: () => Promise.reject(new Error('died')) },
      enqueue: async (...args) => {
        await setDue('hourly', MONDAY);
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
    const { add, setNow, sweep, store, occurDeps, dueAt, campaigns } = fixture;
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
    let held = 0;
    await sweep(
      {
        enqueue: async (...args) => {
          for (let round = 0; round < 6; round += 1) {
            passedMs += 10_000;
            ring();
            await expect.poll(() => dueAt('daily')).toBe(MONDAY + passedMs + 30_000);
            held += 1;
          }
          return occurDeps.enqueue(...args);
        },
      },
      { timing },
    );
    expect(held).toBe(6);
    expect(await campaigns()).toHaveLength(1);
    expect(await store.read('daily')).toMatchObject({ next: MONDAY + DAY });
    expect(await dueAt('daily')).toBe(MONDAY + DAY);
  });

  test('returns the campaign that exists, if its worker died before the schedule was advanced', async () => {
    const { add, setNow, sweep, store, campaigns, outcomes, errors, setRecipients } = fixture;
    await add('daily');
    setNow(MONDAY);
    const died = { ...store, advance: () => Promise.reject(new Error('died')) };
    await sweep({ store: died });
    expect(errors).toEqual([new Error('died')]);
    expect(await outcomes('daily')).toEqual([]);
    const before = await campaigns();
    expect(before).toHaveLength(1);
    // The list is another one by now, and the occurrence is late: neither matters, because its campaign exists.
    await setRecipients('daily', [{ to: mobile(9) }]);
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
    const { add, setNow, sweep, campaigns, provided, dueAt } = fixture;
    await add('provided', { source: { kind: 'provided', name: 'customers' } });
    setNow(MONDAY);
    await sweep();
    expect(await dueAt('provided')).toBe(MONDAY);
    const asked: Date[] = [];
    provided.set('customers', async function* ({ at }) {
      asked.push(at);
      yield { to: mobile(1) };
    });
    await sweep({ laneOf: () => undefined });
    expect(await campaigns()).toEqual([]);
    await sweep();
    expect(await campaigns()).toHaveLength(1);
    expect(asked).toEqual([new Date(MONDAY)]);
  });

  test('waits for a list, and fails with a sentence if code provides none', async () => {
    const { add, setNow, sweep, campaigns, provided, store } = fixture;
    provided.set('later', async () => [{ to: mobile(1) }]);
    const none: readonly (readonly [string, unknown])[] = [
      ['nothing', undefined],
      ['null', null],
      ['object', { to: mobile(1) }],
    ];
    for (const [name, returned] of none) provided.set(name, (() => returned) as () => []);
    for (const name of provided.keys()) await add(name, { source: { kind: 'provided', name } });
    setNow(MONDAY);
    await sweep();
    expect(await campaigns()).toHaveLength(1);
    for (const [name] of none)
      expect(await store.occurrences(name, 1)).toMatchObject([
        {
          outcome: 'failed',
          reason: `the list ${name} is no array, and nothing else that yields recipients`,
        },
      ]);
  });

  test('stays due if the process stops while the list is read', async () => {
    const { add, setNow, sweep, campaigns, provided, outcomes, dueAt } = fixture;
    await add('provided', { source: { kind: 'provided', name: 'customers' } });
    setNow(MONDAY);
    const control = new AbortController();
    provided.set('customers', async function* () {
      control.abort(new Error('stopped'));
      yield { to: mobile(1) };
    });
    await sweep({}, { signal: control.signal });
    expect(await dueAt('provided')).toBe(MONDAY);
    provided.set('customers', () => [{ to: mobile(1) }]);
    await sweep();
    expect(await campaigns()).toHaveLength(1);
    expect(await outcomes('provided')).toEqual(['created 0']);
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

  test('with limits runs a schedule of another key only within the limits of both', async () => {
    const { add, sweep, store, outcomes, provided, setNow } = fixture;
    let now = MONDAY - HOUR;
    await add('daily', { overlap: 'allow', source: { kind: 'provided', name: 'list' } });
    provided.set('list', () => [{ to: mobile(1) }, { to: mobile(2) }]);
    const actor = { kind: 'key', id: '0123456789ab', name: 'shop' } as const;
    const run = async (limits: SomeLimits) => {
      now += 1_000;
      setNow(now);
      await store.change('daily', 'run', { runBy: { actor, limits } });
      await sweep();
      const [latest] = await store.occurrences('daily', 1);
      return `${latest?.outcome}: ${latest?.reason ?? ''}`;
    };
    expect(await run({ recipientsPerDay: 3 })).toBe('created: ');
    expect(await run({ recipientsPerDay: 3 })).toContain(
      'failed: API key 0123456789ab may send 3 messages a day: 1 message left',
    );
    expect(await run({ countries: ['DE'] })).toContain('API key 0123456789ab may text only DE');
    // The limits of who asked for a run are not those of the occurrences.
    setNow(MONDAY);
    await sweep();
    expect((await outcomes('daily'))[0]).toContain('created');
  });

  test('pauses a schedule while a worker reads its list: it stays paused, and creates no campaign', async () => {
    const { add, setNow, sweep, store, outcomes, campaigns, dueAt } = fixture;
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
    expect(await dueAt('daily')).toBeNull();
  });

  test('pauses a schedule when its campaign exists already: it stays paused, and its campaign is recorded', async () => {
    const { add, setNow, sweep, store, outcomes, dueAt } = fixture;
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
    expect(await dueAt('daily')).toBeNull();
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
    const { add, setNow, sweep, store, campaigns, keysOfSchedules } = fixture;
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
    expect(await keysOfSchedules()).toEqual([]);
  });
});
