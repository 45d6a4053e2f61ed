import { expect, test } from 'vitest';
import { occurrenceDigest } from '../../../src/engine/recipients/reservation.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { scheduleStore } from '../../../src/intake/schedules/store.js';
import { OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture } from '../import/import-fixture.js';
import { HOUR, MONDAY, scheduleFixture } from './fixture.js';
import { mortalProcess, POINTS } from './mortal-process.js';

const { prefix, redis } = testRedis('schedules-replaced');
let worlds = 0;

/** A worker that has a schedule in hand, which is due, and stands still before this command. */
async function stoppedWorker(stopsAt: (typeof POINTS)[number], isManual: boolean) {
  worlds += 1;
  const ownPrefix = `${prefix}-${worlds}`;
  const own = scheduleFixture(redis, ownPrefix);
  await own.add('daily', { campaign: { message: 'The old text' } });
  if (isManual) await own.store.change('daily', 'run');
  else own.setNow(MONDAY);
  const process = mortalProcess(redis, { stopsAt }, async () => {});
  const { deps } = importFixture(process.redis, ownPrefix);
  const ended = own.sweep({
    redis: process.redis,
    store: scheduleStore(process.redis, own.keys, () => (isManual ? MONDAY - HOUR : MONDAY)),
    enqueue: (input, actor) =>
      importCampaign({ ...deps, by: { ...OPERATOR, actor }, digestOf: occurrenceDigest }, input),
  });
  await process.stopped;
  const texts = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const id of await own.campaigns()) {
      const state = await readState(redis, own.keys, own.lane, id);
      if (state === null || state.state === 'importing') continue;
      found.push((await readMeta(redis, own.keys, own.lane, id))?.text ?? '');
    }
    return found;
  };
  const wake = async (): Promise<void> => {
    process.wake();
    await ended;
  };
  return { ...own, texts, wake };
}

const cases = POINTS.flatMap((stopsAt) => [
  { stopsAt, isManual: false, how: 'an occurrence' },
  { stopsAt, isManual: true, how: 'a requested run' },
]);

test.each(cases)(
  'After a schedule is removed, added again with another text, and paused, a worker that stopped at `$stopsAt` of $how creates nothing with the old text',
  async ({ stopsAt, isManual }) => {
    const { store, add, texts, wake, outcomes, setNow, sweep } = await stoppedWorker(stopsAt, isManual);
    // What was committed before is no mistake.
    const before = stopsAt === 'advance' ? ['The old text'] : [];
    await store.change('daily', 'remove');
    expect(await texts()).toEqual(before);
    await add('daily', { campaign: { message: 'The new text' }, overlap: 'allow' });
    await store.change('daily', 'pause', { reason: 'by a test' });
    await wake();
    expect(await texts()).toEqual(before);
    expect(await outcomes('daily')).toEqual([]);
    expect(await store.read('daily')).toMatchObject({
      state: 'paused',
      reason: 'by a test',
      lastCampaign: '',
    });

    // The new schedule works.
    await store.change('daily', 'resume', { next: MONDAY + 24 * HOUR });
    setNow(MONDAY + 24 * HOUR);
    await sweep();
    expect((await texts()).sort()).toEqual(['The new text', ...before].sort());
  },
);

test.each(POINTS)(
  'After a schedule is paused, a worker that stopped at `%s` of an occurrence creates no campaign',
  async (stopsAt) => {
    const { store, texts, wake } = await stoppedWorker(stopsAt, false);
    await store.change('daily', 'pause', { reason: 'by a test' });
    const before = await texts();
    expect(before).toEqual(stopsAt === 'advance' ? ['The old text'] : []);
    await wake();
    expect(await texts()).toEqual(before);
  },
);
