import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkCron,
  checkZone,
  dueOccurrences,
  nextOccurrence,
  nextOccurrences,
} from '../../../src/intake/schedules/timetable.js';

/** Zones with and without daylight saving, on both hemispheres, with odd offsets, and with changes at midnight. */
const ZONES = [
  'UTC',
  'Europe/London',
  'Europe/Berlin',
  'Europe/Kyiv',
  'Africa/Cairo',
  'Africa/Johannesburg',
  'America/New_York',
  'America/Los_Angeles',
  'America/St_Johns',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/Havana',
  'Asia/Beirut',
  'Asia/Jerusalem',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Sydney',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Apia',
] as const;

/** Where clocks change at midnight. */
const MIDNIGHT = new Set(['Africa/Cairo', 'America/Santiago', 'America/Havana', 'Asia/Beirut']);

const START = Date.UTC(2025, 0, 1);
const END = Date.UTC(2028, 0, 1);

const dateIn = (zone: string): ((at: number) => string) => {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' });
  return (at) => format.format(at);
};

test.each(ZONES)('In %s, a daily schedule is due once on each local date of three years', (zone) => {
  const date = dateIn(zone);
  // 02:30 is skipped or repeated in most zones, 00:30 where clocks change at midnight.
  const cron = MIDNIGHT.has(zone) ? '30 0 * * *' : '30 2 * * *';
  const times = nextOccurrences({ cron, zone }, START, 1_096).filter((at) => at < END);
  const dates = times.map(date);
  const [first = ''] = dates;
  const consecutive = dates.map((_, day) =>
    new Date(Date.parse(first) + day * 86_400_000).toISOString().slice(0, 10),
  );
  expect(dates).toEqual(consecutive);
  expect(times.length).toBeGreaterThan(1_090);
});

test.each(['Europe/London', 'Africa/Cairo', 'Australia/Lord_Howe'])(
  'In %s, the time after the time that was asked last is that of the expression, even when clocks change',
  (zone) => {
    for (const cron of ['30 0 * * *', '17 * * * *', '45 1 * * 0']) {
      const fresh = new Cron(cron, { timezone: zone, mode: '5-part', paused: true });
      for (const day of [
        '2026-03-28',
        '2026-04-04',
        '2026-04-23',
        '2026-10-03',
        '2026-10-24',
        '2026-10-29',
      ]) {
        const from = Date.parse(`${day}T12:00Z`);
        for (let at = from; at < from + 86_400_000; at += 23 * 60_000 + 1_234)
          expect({ at, next: nextOccurrence({ cron, zone }, at) }).toEqual({
            at,
            next: fresh.nextRun(new Date(at))?.getTime(),
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

test('A skipped time is due at the end of the gap, and a repeated one only the first time', () => {
  const timetable = { cron: '30 1 * * *', zone: 'Europe/London' };
  expect(nextOccurrence(timetable, Date.UTC(2030, 2, 30, 12))).toBe(Date.UTC(2030, 2, 31, 1));
  const first = nextOccurrence(timetable, Date.UTC(2030, 9, 26, 12));
  expect(first).toBe(Date.UTC(2030, 9, 27, 0, 30));
  expect(nextOccurrence(timetable, first)).toBe(Date.UTC(2030, 9, 28, 1, 30));
});

test('The due occurrences are those that follow each other until now', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ZONES),
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
      checkCron({ cron, zone }, START);
    }).toThrow(message);
  });
});
