import { describe, expect, test } from 'vitest';
import { keyNames } from '../../src/base/redis/keys.js';
import type { LaneStatusRecord } from '../../src/engine/lane/lane-status.js';
import type { StoredState } from '../../src/engine/store/campaigns.js';
import { beginImport } from '../../src/intake/import/import-session.js';
import { testRedis } from '../base/redis/test-redis.js';
import { laneFixture, START } from '../engine/lane/lane-fixture.js';
import { storedLane } from '../scene/stored.js';

import { META, statusOf } from './status-fixture.js';

const { redis, prefix } = testRedis('rate');

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const after = (minutes: number): number => START + minutes * MINUTE;

describe('The rate of a campaign', () => {
  const sent = { counts: { planned: 500, deliveredToNetwork: 400, unknown: 100 }, total: 1000 };

  test.each<[string, Partial<StoredState>, Partial<LaneStatusRecord>, number | null]>([
    ['is the average of the accepted messages since its launch', {}, {}, 200],
    ['leaves out the time in which its lane could not send', {}, { closedMs: HOUR }, 400],
    ['counts only what closed the lane since its launch', { idleMs: -HOUR }, { closedMs: HOUR }, 200],
    ['leaves out its own pauses', { idleMs: 1.5 * HOUR }, {}, 800],
    ['is null while it is paused', { state: 'paused' }, {}, null],
    ['is null in the first second', {}, { now: START + 999 }, null],
    ['is null before anything is sent', { counts: { planned: 99, sending: 1 } }, {}, null],
    [
      'is null below 100 accepted messages',
      { counts: { planned: 1, unknown: 1, unconfirmed: 99 } },
      {},
      null,
    ],
    [
      'counts every final status of an accepted message',
      { counts: { planned: 1, unconfirmed: 100 } },
      {},
      50,
    ],
    ['is null once everything is sent', { counts: { deliveredToNetwork: 100 } }, {}, null],
    ['counts no recipients who get no message', { counts: { planned: 60, suppressed: 140 } }, {}, null],
  ])('%s', (_, state, view, rate) => {
    expect(statusOf({ ...sent, ...state }, { now: START + 2 * HOUR, ...view }).rate).toBe(rate);
  });

  test('is known while its window is closed, as soon as a worker has noted that', () => {
    // START is at eight.
    const shut = { ...META, window: 'Mon-Sun 06:00-07:00; UTC' };
    const rateOf = (state: Partial<StoredState>) =>
      statusOf({ ...sent, launchAt: START - 2 * HOUR, ...state }, {}, { meta: shut }).rate;
    expect(rateOf({})).toBeNull();
    expect(rateOf({ opensAt: START + 22 * HOUR, activeMs: HOUR })).toBe(400);
  });
});

test('The time in which a campaign is paused, its lane is held, or both, does not count for its rate', async () => {
  const { commands, views, state, campaign } = laneFixture(redis, prefix, 'rate');
  // Before the campaign, the lane was held for an hour.
  await commands.lane('hold', 'held', after(-60));
  await commands.lane('resume', '', START);
  // A worker sees each change at once.
  await views.tend(1e12, START);
  await campaign('c', 100, { launchAt: START, idleMs: -60 * MINUTE });
  await commands.campaign('pause', 'c', 'paused', after(10));
  await commands.campaign('pause', 'c', 'paused again', after(11));
  await commands.lane('hold', 'held', after(12));
  await commands.lane('hold', 'held again', after(13));
  await commands.campaign('resume', 'c', '', after(20));
  await commands.lane('resume', '', after(30));
  await views.tend(1e12, after(30));
  const activeAt = async (minutes: number): Promise<number> => {
    const { closedMs } = await views.look(after(minutes));
    const { launchAt, idleMs } = await state('c');
    return (after(minutes) - Number(launchAt) - closedMs - Number(idleMs)) / MINUTE;
  };
  // From 0 to 10, and from 30 on.
  expect(await activeAt(30)).toBe(10);
  expect(await activeAt(35)).toBe(15);
  await commands.lane('hold', 'held', after(40));
  expect(await activeAt(50)).toBe(20);
});

test('The rate of a campaign that starts late, because no worker ran, counts from its start', async () => {
  const { commands, views, state, campaign } = laneFixture(redis, prefix, 'late');
  const stored = storedLane({ redis, keys: keyNames(prefix), id: 'late' });
  await campaign('c', 100, { state: 'scheduled', launchAt: START });
  await stored.schedule('c', START);
  await commands.lane('hold', 'held', after(20));
  await commands.lane('resume', '', after(30));
  await views.tend(1e12, after(60));
  const { closedMs } = await views.look(after(61));
  const { state: now, launchAt, idleMs } = await state('c');
  expect(now).toBe('running');
  expect(after(61) - Number(launchAt) - closedMs - Number(idleMs)).toBe(60_000);
});

/** A lane with one campaign that began at once, by the clock of Redis, before any worker ran. Times are minutes after that. */
async function withoutWorker(name: string) {
  const lane = laneFixture(redis, `${prefix}-${name}`, 'main');
  const session = await beginImport(redis, lane.keys, META);
  for (const number of ['+447700900123', '+447700900124']) session.recipients.add({ number, values: [] });
  await session.commit(META);
  const launchAt = Number((await lane.state('c'))['launchAt']);
  const after = (minutes: number): number => launchAt + minutes * MINUTE;
  const claim = (minutes: number) =>
    lane.claims.send({ turn: `at ${minutes}`, call: 1, want: 1, seen: 0, now: after(minutes) });
  /** For how long the campaign could send, in minutes. */
  const activeAt = async (minutes: number): Promise<number> => {
    const { closedMs } = await lane.views.look(after(minutes));
    return minutes - (closedMs + Number((await lane.state('c'))['idleMs'])) / 60_000;
  };
  return { ...lane, after, claim, activeAt };
}

test('The rate of a campaign that starts at once, while no worker runs, counts from the first worker', async () => {
  const { claim, activeAt } = await withoutWorker('claimed');
  expect(await activeAt(59)).toBe(0);
  await claim(60);
  expect(await activeAt(61)).toBe(1);
  await claim(65);
  expect(await activeAt(70)).toBe(10);
});

test('A sweep is a worker too, and time without one that is also time held counts once', async () => {
  const { commands, views, after, activeAt } = await withoutWorker('swept');
  await commands.lane('hold', 'held', after(20));
  await views.tend(1e12, after(30));
  expect(await activeAt(35)).toBe(0);
  await commands.lane('resume', '', after(40));
  expect(await activeAt(50)).toBe(0);
  await views.tend(1e12, after(50));
  expect(await activeAt(52)).toBe(2);
});

test('The rate of a campaign that is resumed while no worker runs counts on from the next worker', async () => {
  const { commands, claim, after, activeAt } = await withoutWorker('resumed');
  await claim(10);
  await commands.campaign('pause', 'c', 'a test', after(15));
  await commands.campaign('resume', 'c', '', after(20));
  expect(await activeAt(30)).toBe(5);
  await claim(40);
  expect(await activeAt(42)).toBe(7);
});

test('The rate of a campaign stays as it was when everything was sent', async () => {
  const { claims, settlements, views, state, campaign } = laneFixture(redis, prefix, 'sent', {
    maxRecipients: 100,
  });
  await campaign('c', 100, { launchAt: START });
  const claimed = await claims.send({ turn: 't', call: 1, want: 1, seen: 0, now: START });
  const [claim] = claimed.claims;
  if (claim === undefined) throw new Error('the lane claimed nothing');
  const accepted = { claim, result: 'accepted', letters: 'TI'.repeat(50), requestId: 'r' } as const;
  await settlements.send([accepted], 0, START + HOUR / 2);
  const { counts, activeMs } = await state('c');
  for (const later of [1, 24]) {
    const now = START + later * HOUR;
    const shown = statusOf({ total: 100, counts, activeMs: Number(activeMs) }, await views.look(now));
    expect(shown.rate).toBe(200);
  }
});

test.each(['cancel', 'lapse'] as const)(
  'The rate of a campaign after a %s leaves out its pauses',
  async (end) => {
    const name = `rate-${end}`;
    const { commands, views, state, campaign } = laneFixture(redis, prefix, name);
    const counted = { cursor: 110, counts: { planned: 90, deliveredToNetwork: 110 } };
    await campaign('c', 200, { launchAt: START, lapseAt: after(40), ...counted });
    await storedLane({ redis, keys: keyNames(prefix), id: name }).lapse('c', after(40));
    await commands.campaign('pause', 'c', 'paused', after(5));
    await commands.campaign('resume', 'c', '', after(25));
    // A worker sees it at once.
    await views.tend(1e12, after(25));
    if (end === 'cancel') await commands.campaign('cancel', 'c', '', after(40));
    else await views.tend(1e12, after(40));
    const { counts, activeMs } = await state('c');
    expect(counts).toMatchObject(end === 'cancel' ? { cancelled: 90 } : { lapsed: 90 });
    expect(activeMs).toBe(20 * MINUTE);
    const shown = statusOf({ total: 200, counts, activeMs: Number(activeMs) }, await views.look(after(60)));
    expect(shown.rate).toBe(330);
  },
);
