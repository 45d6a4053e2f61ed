import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changeBetween, offsetAt } from '../../../src/campaign/time/zone.js';
import {
  checkCron,
  checkZone,
  dueOccurrences,
  nextOccurrence,
  nextOccurrences,
} from '../../../src/intake/schedules/timetable.js';

const START = Date.UTC(2026, 10, 28);
const END = Date.UTC(2029, 10, 28);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WEEK = 7 * 24 * HOUR;

/** When the clocks of a zone change from START to END, with the offset from then on. The first entry is START. */
function changesOf(zone: string): { readonly at: number; readonly offset: number }[] {
  let offset = offsetAt(zone, START);
  const changes = [{ at: START, offset }];
  for (let from = START; from < END; from += WEEK) {
    const before = offset;
    offset = offsetAt(zone, from + WEEK);
    const at = offset === before ? null : changeBetween(zone, from, from + WEEK);
    if (at !== null) changes.push({ at, offset: offsetAt(zone, at) });
  }
  return changes;
}

/** The zones whose clocks change, by the way in which they do. */
const zonesByWay = new Map<string, string[]>();
for (const zone of Intl.supportedValuesOf('timeZone')) {
  const changes = changesOf(zone);
  if (changes.length === 1) continue;
  const way = JSON.stringify(changes);
  zonesByWay.set(way, [...(zonesByWay.get(way) ?? []), zone]);
}
const WAYS = [...zonesByWay.values()].map(([zone = '', ...others]) => ({ zone, also: others.length }));

/** Fields of hours and minutes in which no, one, or each time is skipped or repeated somewhere, and the values that they stand for. */
const HOURS = {
  '*': range(0, 23),
  '*/1': range(0, 23),
  '0-23': range(0, 23),
  '0': [0],
  '1,2,3': [1, 2, 3],
  '0,12': [0, 12],
  '2,14': [2, 14],
  '*/2': range(0, 11).map((hour) => 2 * hour),
  '1-3': [1, 2, 3],
  '0-22/2,23': [...range(0, 11).map((hour) => 2 * hour), 23],
};
const MINUTES = {
  '0': [0],
  '30': [30],
  '*/15': [0, 15, 30, 45],
  '5,35-37': [5, 35, 36, 37],
};

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, place) => from + place);
}

const localAt = (changes: ReturnType<typeof changesOf>, at: number): number =>
  at + (changes.findLast((change) => change.at <= at)?.offset ?? 0);

/** A time that the clocks show, or skip. */
interface Shown {
  readonly hour: number;
  readonly minute: number;
}

/** A minute that passes: what the clocks show, which times they skip before it, and whether they show it for the first time. */
interface Passed {
  readonly at: number;
  readonly shown: Shown;
  readonly skipped: readonly Shown[];
  readonly isFirst: boolean;
}

function shownAt(local: number): Shown {
  const date = new Date(local);
  return { hour: date.getUTCHours(), minute: date.getUTCMinutes() };
}

/** What the clocks show in each minute from `from` to `until`. */
function minutesOf(changes: ReturnType<typeof changesOf>, from: number, until: number): Passed[] {
  const passed: Passed[] = [];
  let latest = localAt(changes, from);
  for (let at = from + MINUTE; at <= until; at += MINUTE) {
    const local = localAt(changes, at);
    const before = latest;
    const missing = Math.max(0, (local - before) / MINUTE - 1);
    const skipped = range(1, missing).map((minute) => shownAt(before + minute * MINUTE));
    passed.push({ at, shown: shownAt(local), skipped, isFirst: local > before });
    latest = Math.max(before, local);
  }
  return passed;
}

/** In which of these minutes the times are due. */
function dueByTheClock(
  passed: readonly Passed[],
  hours: readonly number[],
  minutes: readonly number[],
): number[] {
  const isNamed = ({ hour, minute }: Shown): boolean => hours.includes(hour) && minutes.includes(minute);
  const isEachHour = hours.length === 24;
  return passed.flatMap(({ at, shown, skipped, isFirst }) => {
    const isDue = isEachHour ? isNamed(shown) : skipped.some(isNamed) || (isFirst && isNamed(shown));
    return isDue ? [at] : [];
  });
}

test('The clocks of Berlin, Santiago, Casablanca, and Lord Howe change, each in a way of its own', () => {
  const named = ['Europe/Berlin', 'America/Santiago', 'Africa/Casablanca', 'Australia/Lord_Howe'];
  const found = named.map((zone) => [...zonesByWay.values()].findIndex((zones) => zones.includes(zone)));
  expect(found).not.toContain(-1);
  expect(new Set(found).size).toBe(named.length);
});

test.each(WAYS)(
  'In $zone and $also other zones, a schedule is due as the clocks show, at each change of three years',
  ({ zone }) => {
    const changes = changesOf(zone);
    for (const { at } of changes.slice(1)) {
      const [from, until] = [at - 4 * HOUR, at + 4 * HOUR];
      const passed = minutesOf(changes, from, until);
      for (const [hour, hours] of Object.entries(HOURS))
        for (const [minute, minutes] of Object.entries(MINUTES)) {
          const timetable = { cron: `${minute} ${hour} * * *`, zone };
          const expected = dueByTheClock(passed, hours, minutes);
          const following = nextOccurrences(timetable, from, expected.length + 1);
          expect({ ...timetable, due: following.filter((due) => due <= until) }).toEqual({
            ...timetable,
            due: expected,
          });
        }
    }
  },
);

test('Monday at nine in London stays nine when the clocks change', () => {
  const timetable = { cron: '0 9 * * 1', zone: 'Europe/London' };
  const times = nextOccurrences(timetable, Date.UTC(2030, 9, 20), 3).map((at) => new Date(at).toISOString());
  expect(times).toEqual(['2030-10-21T08:00:00.000Z', '2030-10-28T09:00:00.000Z', '2030-11-04T09:00:00.000Z']);
});

describe('On a day on which clocks change, a skipped time is due at the end of the gap, and a repeated one once', () => {
  test.each([
    // One time, a list, a step, a range, and a name.
    ['Europe/London', '30 1 * * *', '2030-03-30T12:00Z', ['2030-03-31T01:00', '2030-04-01T00:30']],
    ['Europe/London', '30 1 * * *', '2030-10-26T12:00Z', ['2030-10-27T00:30', '2030-10-28T01:30']],
    ['Europe/Berlin', '30 2,14 * * *', '2026-10-25T00:00Z', ['2026-10-25T00:30', '2026-10-25T13:30']],
    ['Europe/Berlin', '0,30 2 * * *', '2026-10-25T00:00Z', ['2026-10-25T00:30', '2026-10-26T01:00']],
    ['Europe/Berlin', '0 */2 * * *', '2026-10-24T23:00Z', ['2026-10-25T00:00', '2026-10-25T03:00']],
    ['Europe/Berlin', '*/20 2-3 * * *', '2027-03-28T00:30Z', ['2027-03-28T01:00', '2027-03-28T01:20']],
    ['America/Santiago', '0 0,12 * * *', '2027-09-04T18:00Z', ['2027-09-05T04:00', '2027-09-05T15:00']],
    ['America/Santiago', '@daily', '2027-09-04T18:00Z', ['2027-09-05T04:00', '2027-09-06T03:00']],
    // Each hour that passes.
    ['Europe/Berlin', '30 * * * *', '2026-10-25T00:00Z', ['2026-10-25T00:30', '2026-10-25T01:30']],
    ['Europe/Berlin', '@hourly', '2027-03-28T00:30Z', ['2027-03-28T01:00', '2027-03-28T02:00']],
    ['Australia/Lord_Howe', '15 * * * *', '2027-10-02T15:00Z', ['2027-10-02T16:15', '2027-10-02T17:15']],
  ])('in %s, for %s from %s on', (zone, cron, from, due) => {
    const times = nextOccurrences({ cron, zone }, Date.parse(from), 2);
    expect(times.map((at) => new Date(at).toISOString().slice(0, 16))).toEqual(due);
  });
});

test('The due occurrences are those that follow each other until now', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...WAYS.map(({ zone }) => zone)),
      fc.constantFrom('*/15 * * * *', '0 * * * *', '5 9 * * 1-5'),
      fc.integer({ min: START, max: END }),
      fc.integer({ min: 0, max: 7 * 86_400_000 }),
      (zone, cron, from, later) => {
        const timetable = { cron, zone };
        const first = nextOccurrence(timetable, from);
        const now = first + later;
        const { due, following } = dueOccurrences(timetable, first, now, 50);
        expect([...due, following]).toEqual(nextOccurrences(timetable, from, due.length + 1));
        expect(due.every((at) => at <= now)).toBe(true);
        expect(following > now || due.length === 50).toBe(true);
      },
    ),
    { numRuns: 20 },
  );
});

describe('A timetable is refused', () => {
  test.each([
    ['Europe/Lundon', '0 9 * * 1', /no time zone "Europe\/Lundon"\. Did you mean Europe\/London\?/],
    ['+02:00', '0 9 * * 1', /no time zone/],
    ['UTC', '0 0 30 2 *', /is never due/],
    ['UTC', '* * * * * *', /has 6 fields.*more than once per minute/],
    ['UTC', '0 9 * *', /is incomplete: use five fields/],
    ['UTC', '61 9 * * *', /is invalid \(invalid value for minute: 61\)/],
    ['UTC', '', /is incomplete/],
    ['UTC', '@often', /is invalid/],
  ])('in %s for %s', (zone, cron, message) => {
    expect(() => {
      checkZone(zone);
      checkCron(cron, START);
    }).toThrow(message);
  });
});
