import { beforeEach, describe, expect, test } from 'vitest';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { mobile } from '../import/import-fixture.js';
import { DAY, HOUR, MONDAY, scheduleFixture } from './fixture.js';

const { prefix, redis } = testRedis('schedule-change');
let run = 0;
let own: ReturnType<typeof scheduleFixture>;
beforeEach(() => {
  run += 1;
  own = scheduleFixture(redis, `${prefix}-${run}`);
});

/** The texts of the campaigns, oldest first. */
const texts = async (): Promise<(string | undefined)[]> =>
  Promise.all(
    (await own.campaigns()).map(async (id) => (await readMeta(redis, own.keys, own.lane, id))?.text),
  );
const CHANGED = { campaign: { message: 'Changed' } };

describe('A schedule that gets other settings', () => {
  test('uses them from its next run on, and keeps its history and the campaigns that exist', async () => {
    await own.add('daily', { overlap: 'allow' });
    own.setNow(MONDAY + 500);
    await own.sweep();
    expect(await own.add('daily', { ...CHANGED, overlap: 'allow' })).toBe('changed');
    expect(await own.add('daily', { ...CHANGED, overlap: 'allow' })).toBe('existing');
    await own.sweep();
    expect(await texts()).toEqual(['Hello']);
    own.setNow(MONDAY + DAY + 500);
    await own.sweep();
    expect(await texts()).toEqual(['Hello', 'Changed']);
    expect(await own.outcomes('daily')).toEqual(['created 0', 'created 24']);
  });

  test.each(['before the import', 'before the commit'])(
    'creates nothing with the earlier ones, although a worker had begun (%s)',
    async (when) => {
      await own.add('daily');
      own.setNow(MONDAY + 500);
      const change = async (): Promise<void> => void (await own.add('daily', CHANGED));
      await own.sweep({
        async enqueue(input, ...rest) {
          if (when === 'before the import') await change();
          const confirm: typeof input.confirm = async (preview) => {
            const isConfirmed = (await input.confirm?.(preview)) ?? true;
            if (when === 'before the commit') await change();
            return isConfirmed;
          };
          return own.occurDeps.enqueue({ ...input, confirm }, ...rest);
        },
      });
      expect(await texts()).toEqual([]);
      await own.sweep();
      expect(await texts()).toEqual(['Changed']);
      expect(await own.outcomes('daily')).toEqual(['created 0']);
    },
  );

  test('is due at its new times, and not for what was due before', async () => {
    await own.add('daily');
    own.setNow(MONDAY + 500);
    await own.add('daily', { cron: '0 12 * * *' });
    await own.sweep();
    expect(await texts()).toEqual([]);
    expect(await own.dueAt('daily')).toBe(MONDAY + 3 * HOUR);
    expect(await own.store.read('daily')).toMatchObject({ next: MONDAY + 3 * HOUR, waiting: 0 });
  });

  test('stays paused, and a run that was requested has them', async () => {
    await own.add('daily');
    await own.store.change('daily', 'pause', { reason: 'for now' });
    await own.store.change('daily', 'run');
    await own.add('daily', CHANGED);
    expect(await own.store.read('daily')).toMatchObject({ state: 'paused', reason: 'for now' });
    await own.sweep();
    expect(await texts()).toEqual(['Changed']);
    own.setNow(MONDAY + 500);
    await own.sweep();
    expect(await texts()).toEqual(['Changed']);
  });

  test('has its new list and the limits of who has changed it, and is due only if it is not paused', async () => {
    await own.add('daily');
    await own.store.change('daily', 'pause', { reason: 'for now' });
    const more = [1, 2, 3].map((each) => ({ to: mobile(each) }));
    const actor = { kind: 'key', id: 'second', name: 'second' } as const;
    await own.add('daily', CHANGED, more, undefined, { createdBy: actor, limits: { maxSegments: 1 } });
    expect(await own.dueAt('daily')).toBeNull();
    expect(await own.store.read('daily')).toMatchObject({ createdBy: actor, limits: { maxSegments: 1 } });
    await own.store.change('daily', 'run');
    await own.sweep();
    const [id = ''] = await own.campaigns();
    expect(await own.stored.state(id)).toMatchObject({ total: 3 });
  });

  test('is paid for by who has changed it', async () => {
    const used = async (key: string): Promise<number> =>
      Number((await redis.hget(own.keys.schedules.keyBytes, `used:default ${key}`)) ?? 0);
    await own.add('daily', {}, undefined, { key: 'one', limit: 1_000_000 });
    const before = await used('one');
    expect(before).toBeGreaterThan(0);
    expect(await own.add('daily', CHANGED, undefined, { key: 'two', limit: 1 })).toBe('keyFull');
    const more = [1, 2, 3].map((each) => ({ to: mobile(each) }));
    await own.add('daily', CHANGED, more, { key: 'two', limit: 1_000_000 });
    expect([await used('one'), (await used('two')) > before]).toEqual([0, true]);
    await own.store.change('daily', 'remove');
    expect(await used('two')).toBe(0);
  });
});
