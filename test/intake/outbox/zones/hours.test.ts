import { expect, test } from 'vitest';
import { outboxId } from '../../../../src/engine/recipients/outbox-messages.js';
import { registerWindows } from '../../../../src/engine/recovery/windows.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { START } from '../../../engine/lane/lane-fixture.js';
import { NOW, outboxFixture } from '../outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-zones');
const HOUR = 3_600_000;
/** A request leaves so long before its window closes that it arrives in time (window.lua). */
const MARGIN = 100;
/** The openings of zones, in hours after the start: from, until, and so on. */
const HOURS = { East: [0, 3, 24, 27], West: [6, 8, 30, 32] } as const;

/** An outbox whose messages are sent in the hours of their own zones, up to `lateMs` late. */
async function zonedOutbox(lateMs = 12 * HOUR) {
  const own = await outboxFixture(redis, prefix, { inFlight: 10_000 }, lateMs);
  for (const [zone, hours] of Object.entries(HOURS))
    await own.stored.setOpenings(
      `h; ${zone}`,
      START,
      hours.map((hour) => START + hour * HOUR),
    );
  await own.stored.changeState(outboxId(own.name), { window: 'h; recipient' });
  return {
    ...own,
    claimedIds: async (want = 100) => own.idsOf(await own.claim(want)),
    /** The rules whose openings the sweep computes. */
    windowsDue: async () => (await own.views.tend(1e12, own.now())).windows.map(({ rule }) => rule),
    putIn: (ids: readonly string[], zone: string) =>
      own.putMany(ids.map((id) => ({ id, message: { ...NOW, zone } }))),
  };
}

test('A message waits for the hours of its own zone, holds up none of another zone, and may leave until they end', async () => {
  const own = await zonedOutbox();
  await own.put('a', undefined, { zone: 'West' });
  await own.put('b', undefined, { zone: 'East' });
  const [first, ...others] = await own.claim();
  expect(first).toMatchObject({ message: 'b', leaveWithinMs: 3 * HOUR - MARGIN - 1 });
  expect(others).toEqual([]);
  expect(await own.dueAt()).toBe(START + 6 * HOUR);
  expect(await own.stored.running()).toEqual({});
  own.advance(6 * HOUR - 1);
  expect(await own.claimedIds()).toEqual([]);
  own.advance(1);
  expect(await own.claim()).toMatchObject([{ message: 'a', leaveWithinMs: 2 * HOUR - MARGIN - 1 }]);
});

test('Messages of a closed zone hold up none behind them, even if there are more than one look moves', async () => {
  const own = await zonedOutbox();
  const many = Array.from({ length: 1_500 }, (_, at) => `b-${at}`);
  await own.putIn(['a', 'z'], 'East');
  await own.putIn(many, 'West');
  expect(await own.claimedIds()).toEqual(['a', 'z']);
  expect(await own.dueAt()).toBe(START + 6 * HOUR);
  own.advance(6 * HOUR);
  expect((await own.claimedIds(2_000)).sort()).toEqual(many.sort());
});

test('A message without a zone, or whose zone is not known, is not sent', async () => {
  const own = await zonedOutbox(2 * HOUR);
  await own.put('none');
  await own.put('unknown', undefined, { zone: 'Nowhere' });
  expect(await own.claimedIds()).toEqual([]);
  own.advance(HOUR);
  expect(await own.claimedIds()).toEqual([]);
  expect(await own.statesOf('none', 'unknown')).toEqual(['planned', 'planned']);
  // The next sweep computes the hours of what a script did not find.
  expect(await own.windowsDue()).toContain('h; Nowhere');
  await own.stored.setOpenings('h; Nowhere', START, [START, START + 4 * HOUR]);
  own.advance(1_000);
  expect(await own.claimedIds()).toEqual(['unknown']);
  own.advance(HOUR - 1_000);
  expect(await own.tend()).toEqual({ lapsed: 1 });
  expect(await own.statesOf('none')).toEqual(['lapsed']);
});

test('A message that would be too late when its hours begin lapses before', async () => {
  const own = await zonedOutbox(4 * HOUR);
  await own.put('a', undefined, { zone: 'West' });
  await own.tend();
  expect(await own.dueAt()).toBe(START + 4 * HOUR);
  own.advance(4 * HOUR);
  expect(await own.tend()).toEqual({ lapsed: 1 });
});

test('What is released after the hours of its zone waits until they begin again', async () => {
  const own = await zonedOutbox(40 * HOUR);
  await own.put('a', undefined, { zone: 'East' });
  const claims = await own.claim();
  own.advance(3 * HOUR - MARGIN);
  await own.settle(claims, 'released');
  expect(await own.claimedIds()).toEqual([]);
  own.advance(21 * HOUR + MARGIN);
  expect(await own.claimedIds()).toEqual(['a']);
});

test('A message that waits for its hours can be changed, moved to another zone, and cancelled', async () => {
  const own = await zonedOutbox();
  await own.putIn(['a', 'b'], 'West');
  await own.tend();
  expect(await own.put('a', undefined, { zone: 'West' })).toMatchObject({ outcome: 'unchanged' });
  expect(await own.put('a', undefined, { zone: 'East' })).toMatchObject({ outcome: 'updated' });
  expect(await own.cancel('b')).toBe('cancelled');
  expect(await own.claimedIds()).toEqual(['a']);
});

test('Messages that wait for their hours are not due, and move once', async () => {
  const own = await zonedOutbox();
  await own.putIn(['a', 'b'], 'West');
  await own.put('c', undefined, { zone: 'East' });
  await own.tend();
  const after = await own.dueTimes();
  expect(after).toMatchObject({ a: START + 6 * HOUR, b: START + 6 * HOUR });
  own.advance(HOUR);
  await own.tend();
  expect(await own.dueTimes()).toEqual(after);
});

/** Zones on both hemispheres, with changes of clocks by an hour or half an hour, and without. */
const ZONES = [
  ...['Europe/Oslo', 'Asia/Kolkata', 'America/Los_Angeles', 'Australia/Lord_Howe', 'America/St_Johns'],
  ...['America/New_York', 'America/Phoenix', 'Pacific/Auckland', 'Pacific/Honolulu', 'Africa/Cairo'],
];

test.each(['2027-03-13T12:00Z', '2027-03-27T12:00Z', '2027-10-30T12:00Z', '2027-11-06T12:00Z'])(
  'In ten zones, in the nights after %s, in which clocks change, each message is sent in the hours of its zone',
  async (evening) => {
    const own = await outboxFixture(redis, prefix, { inFlight: 10_000 }, 48 * HOUR);
    const start = Date.parse(evening);
    own.advance(start - own.now());
    const rule = 'Mon-Sun 01:15-03:45';
    await own.stored.changeState(outboxId(own.name), { window: `${rule}; recipient` });
    await registerWindows(
      own.laneStore,
      ZONES.map((zone) => `${rule}; ${zone}`),
      start,
    );
    const ids = ZONES.flatMap((zone) => Array.from({ length: 6 }, (_, at) => `${zone} ${at}`));
    await own.putMany(ids.map((id) => ({ id, message: { ...NOW, zone: id.split(' ')[0] ?? '' } })));
    const isOpen = (zone: string, at: number): boolean => {
      const time = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'short' }).format(at);
      return '01:15' <= time && time < '03:45';
    };
    const sent: string[] = [];
    for (let quarter = 0; quarter < 36 * 4; quarter += 1) {
      const claims = await own.claim(2);
      for (const { message = '', leaveWithinMs = Number.POSITIVE_INFINITY } of claims) {
        const [zone = ''] = message.split(' ');
        const seen = { message, at: new Date(own.now()).toISOString() };
        const last = own.now() + leaveWithinMs + MARGIN;
        const open = [isOpen(zone, own.now()), isOpen(zone, last)];
        expect({ ...seen, open }).toEqual({ ...seen, open: [true, true] });
        sent.push(message);
      }
      own.advance(HOUR / 4);
    }
    expect(sent.sort()).toEqual(ids.sort());
  },
);
