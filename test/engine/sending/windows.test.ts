import { expect, test } from 'vitest';
import { computeWindows, registerWindows } from '../../../src/engine/recovery/windows.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('windows');
const HOUR = 3_600_000;
/** A request leaves so long before its window closes that it arrives in time (window.lua). */
const MARGIN = 100;
/** Open in the second hour, and in the fifth. */
const OPENINGS = [START + HOUR, START + 2 * HOUR, START + 4 * HOUR, START + 5 * HOUR];

/** A lane with windows by their rules. Its time is set in each call. */
async function laneWithWindows(
  name: string,
  windows: Readonly<Record<string, readonly number[]>> = { w: OPENINGS },
  rules: Parameters<typeof laneFixture>[3] = {},
) {
  const lane = laneFixture(redis, prefix, name, rules);
  for (const [rule, times] of Object.entries(windows)) await lane.stored.setOpenings(rule, START, times);
  let turns = 0;
  const claim = (now: number, want = 1) => {
    turns += 1;
    return lane.claims.send({ turn: `t${turns}`, call: 1, want, seen: 0, now });
  };
  const places = async () => ({
    running: Object.keys(await lane.stored.running()),
    scheduled: await lane.stored.scheduled(),
  });
  return { ...lane, claim, places };
}

test('A campaign leaves the running ones while its window is closed, and returns when it opens', async () => {
  const lane = await laneWithWindows('campaign');
  await lane.campaign('c', 100, { window: 'w' });
  const before = await lane.claim(START);
  expect(before).toMatchObject({ claims: [], why: 'nothing', againInMs: HOUR });
  expect(await lane.places()).toEqual({ running: [], scheduled: { c: START + HOUR } });
  expect(await lane.views.look(START)).toMatchObject({ running: 0, waiting: 1, scheduled: 0 });
  expect((await lane.claim(START + HOUR - 1)).claims).toHaveLength(0);

  const [first] = (await lane.claim(START + HOUR)).claims;
  expect(first).toMatchObject({ campaign: 'c', leaveWithinMs: HOUR - MARGIN - 1 });
  expect(await lane.places()).toEqual({ running: ['c'], scheduled: {} });
  const [last] = (await lane.claim(START + 2 * HOUR - MARGIN - 1)).claims;
  expect(last).toMatchObject({ campaign: 'c', leaveWithinMs: 0 });

  const closed = await lane.claim(START + 2 * HOUR - MARGIN);
  expect(closed).toMatchObject({ claims: [], why: 'nothing', againInMs: 2 * HOUR + MARGIN });
  expect((await lane.claim(START + 4 * HOUR)).claims).toHaveLength(1);
  expect((await lane.claim(START + 5 * HOUR)).claims).toHaveLength(0);
});

test('Other campaigns of the lane continue while one waits for its window', async () => {
  const lane = await laneWithWindows('others');
  await lane.campaign('a', 1, { window: 'w' });
  await lane.campaign('b', 5);
  const { claims } = await lane.claim(START, 3);
  expect(claims.map(({ campaign }) => campaign)).toEqual(['b', 'b', 'b']);
});

test('What is released after the window closed is claimed when it opens again', async () => {
  const lane = await laneWithWindows('released');
  await lane.campaign('c', 1, { window: 'w' });
  const [claim] = (await lane.claim(START + 2 * HOUR - MARGIN - 1)).claims;
  if (claim === undefined) throw new Error('no claim');
  await lane.settlements.send([{ claim, result: 'released' }], 0, START + 2 * HOUR + 10);
  expect(await lane.claim(START + 2 * HOUR + 20)).toMatchObject({ claims: [], againInMs: 2 * HOUR - 20 });
  const [again] = (await lane.claim(START + 4 * HOUR)).claims;
  expect(again).toMatchObject({ first: 0, count: 1 });
});

test('A lane outside its window starts no send, but polls; a request leaves before the first of two windows closes', async () => {
  const windows = { lane: OPENINGS, campaign: [START, START + HOUR + 60_000] };
  const lane = await laneWithWindows('lane', windows, { sendWindow: 'lane' });
  await lane.campaign('c', 10, {
    window: 'campaign',
    counts: { planned: 9, deliveredToNetwork: 1 },
    cursor: 1,
  });
  await lane.stored.setFirstPoll('c:0', START);
  expect(await lane.claim(START)).toMatchObject({ claims: [], why: 'window', againInMs: HOUR });
  expect((await lane.claims.poll({ turn: 'p', call: 1, want: 5, seen: 0, now: START })).claims).toHaveLength(
    1,
  );
  expect(await lane.views.look(START)).toMatchObject({ sendAt: START + HOUR, sendBlocked: 'window' });
  expect((await lane.claim(START + HOUR)).claims).toMatchObject([{ leaveWithinMs: 59_899 }]);
});

test('A paused campaign that is resumed while its window is closed waits until it opens', async () => {
  const lane = await laneWithWindows('resumed');
  await lane.campaign('c', 10, { window: 'w' });
  await lane.claim(START);
  await lane.commands.campaign('pause', 'c', 'a test', START + 1_000);
  expect(await lane.places()).toEqual({ running: [], scheduled: {} });
  expect((await lane.claim(START + HOUR)).claims).toHaveLength(0);
  await lane.commands.campaign('resume', 'c', '', START + 3 * HOUR);
  expect(await lane.places()).toEqual({ running: [], scheduled: { c: START + 4 * HOUR } });
  expect((await lane.claim(START + 4 * HOUR)).claims).toHaveLength(1);
});

test('A campaign that starts while its window is closed waits until it opens', async () => {
  const lane = await laneWithWindows('starts');
  await lane.campaign('c', 10, { window: 'w', state: 'scheduled', launchAt: START + 1_000 });
  await lane.stored.schedule('c', START + 1_000);
  await lane.views.tend(HOUR, START + 2_000);
  expect(await lane.state('c')).toMatchObject({ state: 'running', opensAt: START + HOUR });
  expect(await lane.places()).toEqual({ running: [], scheduled: { c: START + HOUR } });
  expect((await lane.claim(START + HOUR)).claims).toHaveLength(1);
});

test('The time in which a window is closed does not count as time in which the campaign could send', async () => {
  const lane = await laneWithWindows('rate');
  await lane.campaign('c', 10, { window: 'w' });
  await lane.claim(START + HOUR);
  await lane.claim(START + 2 * HOUR);
  await lane.claim(START + 4 * HOUR);
  // One hour before the first closing, from the start on, and no time since the second opening.
  const { idleMs } = await lane.state('c');
  expect(START + 4 * HOUR - START - Number(idleMs)).toBe(2 * HOUR);
});

test('Recipients lapse while the window is closed', async () => {
  const lane = await laneWithWindows('lapse');
  await lane.campaign('c', 10, { window: 'w', lapseAt: START + 60_000 });
  await lane.stored.lapse('c', START + 60_000);
  await lane.claim(START);
  await lane.views.tend(HOUR, START + 60_000);
  expect(await lane.state('c')).toMatchObject({ state: 'completed', counts: { lapsed: 10 } });
  expect(await lane.places()).toEqual({ running: [], scheduled: {} });
});

test('A request leaves before its campaign lapses, also a repeat, and what comes too late lapses or stays unknown', async () => {
  const repeats = { repeatFor: HOUR, maxRecipients: 1 };
  const lane = await laneWithWindows('validity', { w: [START, START + HOUR] }, repeats);
  await lane.campaign('c', 2, { window: 'w', lapseAt: START + 60_000 });
  const [first] = (await lane.claim(START + 1_000)).claims;
  expect(first).toMatchObject({ leaveWithinMs: 58_999 });
  if (first === undefined) throw new Error('no claim');
  await lane.settle(first, 'unknown', START + 2_000);
  const last = (await lane.claim(START + 59_999, 2)).claims;
  expect(last).toMatchObject([
    { first: 0, again: 'underCorrelator', leaveWithinMs: 0 },
    { first: 1, leaveWithinMs: 0 },
  ]);
  await lane.settle(last, 'released', START + 60_000);
  expect((await lane.claim(START + 60_000)).claims).toEqual([]);
  await lane.sweep(START + 120_000);
  expect((await lane.state('c')).counts).toMatchObject({ lapsed: 1, unknown: 1, planned: 0, sending: 0 });
});

test('A window whose openings are not known is closed until the sweep has computed them', async () => {
  const lane = await laneWithWindows('unknown', {});
  const rule = 'Mon-Sun 00:00-24:00; UTC';
  await lane.campaign('c', 1, { window: rule });
  expect(await lane.claim(START)).toMatchObject({ claims: [], why: 'nothing', againInMs: 1_000 });
  const found = await lane.views.tend(HOUR, START + 100);
  expect(found.windows).toEqual([{ rule, usedAt: START + 100 }]);
  await computeWindows(lane.store, found, START + 100);
  expect((await lane.claim(START + 1_000)).claims).toHaveLength(1);
  // Again only on the next day.
  expect((await lane.views.tend(HOUR, START + HOUR)).windows).toEqual([]);
  expect((await lane.views.tend(HOUR, START + 25 * HOUR)).windows).toHaveLength(1);
});

test('A window that no campaign has used for a month is forgotten, and that of the lane is not', async () => {
  const lane = await laneWithWindows('forgotten', { lane: OPENINGS, w: OPENINGS }, { sendWindow: 'lane' });
  const found = await lane.views.tend(HOUR, START + 31 * 24 * HOUR);
  expect(found.unusedWindows).toEqual(['w']);
  expect(found.windows.map(({ rule }) => rule)).toEqual(['lane']);
});

test('What may be lost is claimed by placeholders although the window is closed', async () => {
  const lane = await laneWithWindows('placeholders');
  await lane.campaign('c', 10, { window: 'w', launchAt: START - HOUR });
  await lane.stored.losePlaceholders(5, START);
  await lane.claim(START + 2 * HOUR);
  expect((await lane.state('c')).counts).toMatchObject({ sending: 5 });
});

/** Hours and minutes of the local time in Paris, by the time zones of the machine. */
const paris = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Paris', timeStyle: 'short' });
const isWithin = (at: number, from: string, until: string): boolean => {
  const time = paris.format(at);
  return from < until ? from <= time && time < until : time >= from || time < until;
};

test.each([
  ['01:30', '02:30'],
  ['02:15', '02:45'],
  ['22:00', '03:00'],
  ['02:00', '23:00'],
])(
  'In both nights in which clocks change, a window from %s to %s sends nothing outside it',
  async (from, until) => {
    const rule = `Mon-Sun ${from}-${until}; Europe/Paris`;
    const lane = await laneWithWindows(`nights-${from}`, {}, { quota: 1_000_000 });
    for (const night of ['2027-03-27', '2027-10-30']) {
      const evening = Date.parse(`${night}T18:00Z`);
      await lane.stored.forgetOpenings();
      await registerWindows(lane.store, [rule], evening);
      const campaign = `c-${night}`;
      await lane.campaign(campaign, 1_000, { window: rule });
      for (let at = evening; at < evening + 14 * HOUR; at += HOUR / 4) {
        const { claims } = await lane.claim(at);
        expect({ night, at: paris.format(at), claims: claims.length }).toEqual({
          night,
          at: paris.format(at),
          claims: Number(isWithin(at, from, until)),
        });
        // It may leave until shortly before the window closes.
        const arrivals = claims.map(({ leaveWithinMs = 0 }) => at + leaveWithinMs + MARGIN);
        expect(
          arrivals.every((last) => isWithin(last, from, until) && !isWithin(last + 1, from, until)),
        ).toBe(true);
        const settled = claims.map(
          (claim) => ({ claim, result: 'accepted', letters: 'T', requestId: `r${at}` }) as const,
        );
        if (settled.length > 0) await lane.settlements.send(settled, 0, at);
      }
      await lane.commands.campaign('cancel', campaign, 'a test', evening + 14 * HOUR);
    }
  },
);
