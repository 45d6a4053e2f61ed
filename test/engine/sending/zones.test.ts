import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cancelRecipients } from '../../../src/app/forget/in-campaign.js';
import { registerWindows } from '../../../src/engine/recovery/windows.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('zones');
const HOUR = 3_600_000;
/** A request leaves so long before its window closes that it arrives in time (window.lua). */
const MARGIN = 100;
const WINDOW = 'h; recipient';
const PARTS_BEGIN = { window: WINDOW, part: 0, partEnd: 0, partOpens: 0, partCloses: 0 };
/** The openings of three zones, in hours after the start: from, until, and so on. */
const HOURS = { East: [0, 3, 24, 27], Middle: [1, 4, 25, 28], West: [6, 8, 30, 32] } as const;

/** A lane with a campaign `c` whose recipients are in these parts. */
async function laneWithZones(
  name: string,
  parts: readonly (readonly [string, number, number?])[],
  change: Record<string, unknown> = {},
  rules: Parameters<typeof laneFixture>[3] = {},
) {
  const lane = laneFixture(redis, prefix, name, { quota: 100_000, inFlight: 1_000, ...rules });
  for (const [zone, hours] of Object.entries(HOURS))
    await lane.stored.setOpenings(
      `h; ${zone}`,
      START,
      hours.map((hour) => START + hour * HOUR),
    );
  await lane.stored.setParts('c', parts);
  const recipients = parts.reduce((sum, [, count]) => sum + count, 0);
  await lane.campaign('c', recipients, { ...PARTS_BEGIN, ...change });
  const places = async () => ({
    running: Object.keys(await lane.stored.running()),
    scheduled: await lane.stored.scheduled(),
  });
  return { ...lane, places };
}

const ranges = (claims: readonly { first: number; count: number }[]): [number, number][] =>
  claims.map(({ first, count }) => [first, count]);

test('Claims take from the open zone that closes first, and each may leave until its own window closes', async () => {
  const lane = await laneWithZones('order', [
    ['Middle', 2],
    ['East', 2],
    ['West', 1],
    ['Middle', 1],
  ]);
  const first = await lane.claim(START + HOUR, 10);
  expect(ranges(first)).toEqual([
    [2, 1],
    [3, 1],
    [0, 1],
    [1, 1],
    [5, 1],
  ]);
  expect(first.map(({ leaveWithinMs }) => leaveWithinMs)).toEqual(
    [2, 2, 3, 3, 3].map((hours) => hours * HOUR - MARGIN - 1),
  );
  // The rest waits, together with the campaign.
  expect(await lane.ask(START + HOUR + 1, 10)).toMatchObject({ claims: [], againInMs: 5 * HOUR - 1 });
  expect(await lane.places()).toEqual({ running: [], scheduled: { c: START + 6 * HOUR } });
  expect(ranges(await lane.claim(START + 6 * HOUR, 10))).toEqual([[4, 1]]);
  expect((await lane.state('c')).counts).toMatchObject({ sending: 6 });
});

test('A zone that closes keeps the rest of its recipients until it opens again', async () => {
  const lane = await laneWithZones('rest', [
    ['East', 3],
    ['Middle', 3],
  ]);
  expect(ranges(await lane.claim(START, 1))).toEqual([[0, 1]]);
  expect(ranges(await lane.claim(START + 3 * HOUR - MARGIN, 2))).toEqual([
    [3, 1],
    [4, 1],
  ]);
  expect(await lane.claim(START + 4 * HOUR - MARGIN, 5)).toEqual([]);
  expect(await lane.state('c')).toMatchObject({ opensAt: START + 24 * HOUR });
  expect(ranges(await lane.claim(START + 24 * HOUR, 5))).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(ranges(await lane.claim(START + 25 * HOUR, 5))).toEqual([[5, 1]]);
});

test('A batch has recipients of one zone only', async () => {
  const lane = await laneWithZones(
    'batches',
    [
      ['East', 5],
      ['Middle', 5],
    ],
    {},
    { maxRecipients: 4 },
  );
  expect(ranges(await lane.claim(START + HOUR, 10))).toEqual([
    [0, 4],
    [4, 1],
    [5, 4],
    [9, 1],
  ]);
});

test('What is released goes again only while the window of its zone is open', async () => {
  const lane = await laneWithZones('released', [
    ['East', 1],
    ['Middle', 1],
  ]);
  const [east] = await lane.claim(START + 2 * HOUR, 1);
  if (east === undefined) throw new Error('nothing to claim');
  await lane.settle(east, 'released', START + 3 * HOUR);
  expect(ranges(await lane.claim(START + 3 * HOUR, 5))).toEqual([[1, 1]]);
  expect(await lane.claim(START + 4 * HOUR, 5)).toEqual([]);
  const [again] = await lane.claim(START + 24 * HOUR, 5);
  expect(again).toMatchObject({ first: 0, leaveWithinMs: 3 * HOUR - MARGIN - 1 });
});

test('Nothing is claimed of a zone whose hours are not known, nor of a list whose zones are lost', async () => {
  const lane = await laneWithZones('unknown', [['Nowhere', 2]]);
  expect(await lane.ask(START, 5)).toMatchObject({ claims: [], againInMs: 1_000 });
  await lane.stored.removeParts('c');
  expect(await lane.claim(START + 1_000, 5)).toEqual([]);
  // Nor what was released, of which the zone is lost as well.
  const other = await laneWithZones('released-unknown', [['East', 1]]);
  await other.settle(await other.claimOne(START), 'released', START);
  await other.stored.removeParts('c');
  expect(await other.claim(START, 5)).toEqual([]);
});

test('A clock that is set back to before the hours of the zone claims nothing', async () => {
  const lane = await laneWithZones('clock', [['West', 5]]);
  expect(await lane.claim(START + 6 * HOUR, 1)).toHaveLength(1);
  await lane.stored.setState('c', { ...(await lane.state('c')), partOpens: START + 7 * HOUR });
  await lane.stored.setOpenings('h; West', START, [START + 7 * HOUR, START + 8 * HOUR]);
  expect(await lane.claim(START + 6 * HOUR + 1, 5)).toEqual([]);
});

test('Pausing, resuming, lapsing, and cancelling count all zones', async () => {
  const lane = await laneWithZones('commands', [
    ['East', 3],
    ['West', 4],
  ]);
  await lane.claim(START, 1);
  await lane.commands.campaign('pause', 'c', 'a test', START + 1_000);
  expect(await lane.claim(START + 2_000, 5)).toEqual([]);
  await lane.commands.campaign('resume', 'c', '', START + 4 * HOUR);
  expect(await lane.places()).toEqual({ running: [], scheduled: { c: START + 6 * HOUR } });
  expect(ranges(await lane.claim(START + 6 * HOUR, 1))).toEqual([[3, 1]]);
  await lane.commands.campaign('cancel', 'c', 'a test', START + 6 * HOUR);
  expect((await lane.state('c')).counts).toMatchObject({ sending: 2, cancelled: 5 });
});

test('In any order of claims, releases, and cancellations, each recipient is claimed once, within its hours', async () => {
  const zones = ['East', 'Middle', 'West'] as const;
  const steps = fc.array(
    fc.oneof(
      fc.record({ wait: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ claim: fc.integer({ min: 1, max: 5 }), isReleased: fc.boolean() }),
      fc.record({ cancel: fc.array(fc.nat(39), { minLength: 1, maxLength: 3 }) }),
    ),
    { minLength: 5, maxLength: 25 },
  );
  const time = fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined });
  const lists = fc.array(fc.tuple(fc.constantFrom(...zones), fc.integer({ min: 1, max: 9 }), time), {
    minLength: 1,
    maxLength: 6,
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(lists, steps, fc.integer({ min: 1, max: 7 }), async (list, moves, maxRecipients) => {
      run += 1;
      const parts = list.map(
        ([zone, count, hours]) =>
          [zone, count, ...(hours === undefined ? [] : [START + hours * HOUR])] as [string, number, number?],
      );
      const lane = await laneWithZones(`any-${run}`, parts, {}, { maxRecipients });
      const zoneOf = list.flatMap(([zone, count]) => Array.from({ length: count }, () => zone));
      const timeOf = list.flatMap(([, count, hours = 0]) => Array.from({ length: count }, () => hours));
      const accepted: number[] = [];
      let now = START;
      const take = async (want: number, isReleased: boolean): Promise<void> => {
        for (const claim of await lane.claim(now, want)) {
          const ordinals = Array.from({ length: claim.count }, (_, at) => claim.first + at);
          for (const ordinal of ordinals) {
            const [from = 0, until = 0, again = 0, end = 0] = HOURS[zoneOf[ordinal] ?? 'East'];
            const hour = (now - START) / HOUR;
            expect((from <= hour && hour < until) || (again <= hour && hour < end)).toBe(true);
            expect(hour).toBeGreaterThanOrEqual(timeOf[ordinal] ?? 0);
            expect(now + (claim.leaveWithinMs ?? 0)).toBeLessThan(
              START + (hour < until ? until : end) * HOUR,
            );
          }
          await lane.settle(claim, isReleased ? 'released' : 'accepted', now);
          if (!isReleased) accepted.push(...ordinals);
        }
      };
      for (const move of moves) {
        if ('wait' in move) now = Math.min(now + move.wait * HOUR, START + 24 * HOUR);
        else if ('claim' in move) await take(move.claim, move.isReleased);
        else
          await cancelRecipients(
            lane.store,
            'c',
            move.cancel.filter((at) => at < zoneOf.length),
            now,
          );
      }
      for (const hour of [24, 25, 30]) {
        now = START + hour * HOUR;
        await take(1_000, false);
      }
      const { counts } = await lane.state('c');
      expect(new Set(accepted).size).toBe(accepted.length);
      expect(accepted.length + (counts['cancelled'] ?? 0)).toBe(zoneOf.length);
      expect(counts['planned'] ?? 0).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test('A lost server may have claimed from each zone that had its turn', async () => {
  const lane = await laneWithZones(
    'lost',
    [
      ['East', 2_000],
      ['Middle', 2_000],
      ['West', 2_000],
    ],
    { launchAt: START - HOUR },
  );
  // East closed a moment before, West opens hours later.
  await lane.stored.losePlaceholders(5, START + 3 * HOUR + 1_000);
  await lane.claim(START + 3 * HOUR + 2_000);
  const held = Object.values(await lane.stored.claims()).map(({ first, count }) => [first, count]);
  expect(held).toEqual([
    [0, 5],
    [2_000, 5],
  ]);
  expect((await lane.state('c')).counts).toMatchObject({ sending: 10, planned: 5_990 });
});

/** Parts whose recipients have a time, in hours after the start, without a zone. */
const timed = (...parts: readonly (readonly [count: number, hours: number])[]) =>
  parts.map(([count, hours]) => ['', count, START + hours * HOUR] as const);

test('Without a window, nothing is claimed before its time, and what has the earliest time goes first', async () => {
  const lane = await laneWithZones('times', timed([2, 3], [1, 1], [2, 1], [1, 2]), { window: undefined });
  const before = await lane.ask(START + HOUR - 1, 10);
  expect(before).toMatchObject({ claims: [], againInMs: 1 });
  expect(await lane.places()).toEqual({ running: [], scheduled: { c: START + HOUR } });
  const first = await lane.claim(START + HOUR, 2);
  expect(ranges(first)).toEqual([
    [2, 1],
    [3, 1],
  ]);
  // They may leave at any time.
  expect(first.map(({ leaveWithinMs }) => leaveWithinMs)).toEqual([undefined, undefined]);
  expect(ranges(await lane.claim(START + 3 * HOUR, 10))).toEqual([
    [4, 1],
    [5, 1],
    [0, 1],
    [1, 1],
  ]);
  expect((await lane.state('c')).counts).toMatchObject({ sending: 6 });
});

test('A time counts within the hours of its zone, and those of the campaign', async () => {
  const lane = await laneWithZones('times-in-zones', [
    ['East', 1, START + 2 * HOUR],
    ['East', 1, START + HOUR],
    ['Middle', 1, START + 5 * HOUR],
    ['West', 1, START + HOUR],
  ]);
  // The hours of both end at the same time, and the time of the first is to come.
  expect(ranges(await lane.claim(START + HOUR, 10))).toEqual([[1, 1]]);
  expect(await lane.state('c')).toMatchObject({ opensAt: START + 2 * HOUR });
  const [second] = await lane.claim(START + 2 * HOUR, 1);
  expect(second).toMatchObject({ first: 0, leaveWithinMs: HOUR - MARGIN - 1 });
  // Nothing of the part is claimed if the clock is set back to before its time.
  expect(await lane.state('c')).toMatchObject({ partOpens: START + 2 * HOUR });
  expect(await lane.claim(START + 5 * HOUR, 10)).toEqual([]);
  expect(ranges(await lane.claim(START + 6 * HOUR, 10))).toEqual([[3, 1]]);
  expect(await lane.claim(START + 24 * HOUR, 10)).toEqual([]);
  expect(ranges(await lane.claim(START + 25 * HOUR, 10))).toEqual([[2, 1]]);
  // All have one window.
  const other = await laneWithZones('times-in-hours', timed([1, 2], [1, 7]), { window: 'h; West' });
  expect(await other.ask(START + 2 * HOUR, 5)).toMatchObject({ claims: [], againInMs: 4 * HOUR });
  expect(ranges(await other.claim(START + 6 * HOUR, 5))).toEqual([[0, 1]]);
  expect(ranges(await other.claim(START + 7 * HOUR, 5))).toEqual([[1, 1]]);
});

test('A lost server may have claimed what it has not seen come, and nothing that comes later', async () => {
  const lane = await laneWithZones('times-lost', timed([2_000, 2], [2_000, 3], [2_000, 4]), {
    window: undefined,
    launchAt: START - HOUR,
  });
  // The second time came within the lost time.
  await lane.stored.losePlaceholders(5, START + 3 * HOUR + 1_000);
  await lane.claim(START + 3 * HOUR + 2_000);
  const held = Object.values(await lane.stored.claims()).map(({ first, count }) => [first, count]);
  expect(held).toEqual([
    [0, 5],
    [2_000, 5],
  ]);
  expect((await lane.state('c')).counts).toMatchObject({ sending: 10, planned: 5_990 });
});

/** Zones on both hemispheres, with changes of clocks by an hour or half an hour, and without. */
const ZONES = [
  ...['Europe/Oslo', 'Asia/Kolkata', 'America/Los_Angeles', 'Australia/Lord_Howe', 'America/Denver'],
  ...['America/New_York', 'America/Phoenix', 'America/Sao_Paulo', 'America/St_Johns', 'Pacific/Auckland'],
  ...['Pacific/Chatham', 'Pacific/Honolulu', 'Asia/Kathmandu', 'Asia/Tokyo', 'Africa/Cairo'],
  ...['Africa/Lagos', 'Europe/London', 'America/Santiago', 'Asia/Tehran', 'Australia/Adelaide'],
];

test('In 20 zones, across both nights in which clocks change, nothing is claimed outside the hours of its zone', async () => {
  const clocks = new Map(
    ZONES.map((zone) => [zone, new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'short' })]),
  );
  const rule = 'Mon-Sun 01:15-03:45; recipient';
  const lane = laneFixture(redis, prefix, 'nights', { quota: 1_000_000, inFlight: 1_000 });
  for (const evening of [
    '2027-03-13T12:00Z',
    '2027-03-27T12:00Z',
    '2027-10-30T12:00Z',
    '2027-11-06T12:00Z',
  ]) {
    const start = Date.parse(evening);
    const rules = ZONES.map((zone) => `Mon-Sun 01:15-03:45; ${zone}`);
    await lane.stored.forgetOpenings();
    await registerWindows(lane.store, rules, start);
    await lane.stored.setParts(
      evening,
      ZONES.map((zone) => [zone, 40]),
    );
    await lane.campaign(evening, ZONES.length * 40, { ...PARTS_BEGIN, window: rule, launchAt: start });
    const isOpen = (zone: string, at: number): boolean => {
      const time = clocks.get(zone)?.format(at) ?? '';
      return '01:15' <= time && time < '03:45';
    };
    const done = new Set<string>();
    for (let at = start; at < start + 36 * HOUR; at += HOUR / 4) {
      const claims = await lane.claim(at, 100);
      for (const claim of claims) {
        const zone = ZONES[Math.floor(claim.first / 40)] ?? '';
        const last = at + (claim.leaveWithinMs ?? Number.POSITIVE_INFINITY) + MARGIN;
        const seen = {
          zone,
          at: new Date(at).toISOString(),
          open: isOpen(zone, at),
          until: isOpen(zone, last),
        };
        expect(seen).toEqual({ ...seen, open: true, until: true });
        done.add(zone);
      }
      if (claims.length > 0) await lane.settle(claims, 'accepted', at);
    }
    expect(done.size).toBe(ZONES.length);
    expect((await lane.state(evening)).counts).toMatchObject({ deliveredToNetwork: ZONES.length * 40 });
  }
});
