import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  describeWindow,
  nextCommonOpening,
  nextOpening,
  openingsFrom,
  readWindow,
  windowParts,
} from '../../../src/campaign/estimate/window.js';
import { localTime } from '../../../src/campaign/time/zone.js';

const NOW = Date.parse('2030-01-07T00:00Z');
const ruleOf = (window: string, zone = 'Europe/Paris', except: readonly string[] = []): string => {
  const read = readWindow({ hours: window, zone, except }, NOW);
  if (!read.ok) throw new Error(read.reason);
  return read.rule;
};
const reasonOf = (window: string, zone?: string, except?: readonly string[]): string => {
  const read = readWindow({ hours: window, zone, except }, NOW);
  return read.ok ? 'valid' : `${read.field}: ${read.reason}`;
};
const opensAt = (rule: string, from: string, count: number): string[] =>
  openingsFrom(rule, Date.parse(from), count).map(
    ({ from: start, until }) => `${new Date(start).toISOString()} ${new Date(until).toISOString()}`,
  );

describe('Reading a window', () => {
  test.each([
    ['Mon-Sat 09:00-20:00', 'Mon-Sat 09:00-20:00'],
    [
      'mon - fri 9:00 - 12:00, 14:00-20:00, Sat 10:00-14:00',
      'Mon-Fri 09:00-12:00, Mon-Fri 14:00-20:00, Sat 10:00-14:00',
    ],
    ['22:00-06:00', 'Mon-Sun 22:00-06:00'],
    ['Mon, Wednesday 08:00-24:00', 'Mon, Wed 08:00-24:00'],
    ['Fri-Mon 00:00-24:00', 'Fri-Mon 00:00-24:00'],
  ])('%s is %s', (written, read) => {
    const rule = ruleOf(written);
    expect(windowParts(rule)).toEqual({ hours: read, zone: 'Europe/Paris', except: [] });
    // What is shown can be written.
    expect(ruleOf(read)).toBe(rule);
  });

  test.each([
    ['', undefined, [], 'hours: "" is not a window'],
    ['Mon-Sat', 'UTC', [], 'hours: "Mon-Sat" is not a window'],
    ['09:00', 'UTC', [], 'hours: "09:00" is not a window'],
    ['Mun 09:00-20:00', 'UTC', [], 'hours: "Mun" is not a day of the week'],
    ['Mon 09:00-25:00', 'UTC', [], 'hours: 25:00 is not a time of day'],
    ['Mon 24:00-06:00', 'UTC', [], 'hours: 24:00 is not a time of day'],
    ['Mon 09:00-09:00', 'UTC', [], 'hours: Mon 09:00-09:00 begins when it ends'],
    ['Mon 09:00-20:00', undefined, [], 'zone: a window needs a time zone'],
    [
      'Mon 09:00-20:00',
      'Europe/Pariss',
      [],
      'zone: there is no time zone "Europe/Pariss". Did you mean Europe/Paris?',
    ],
    ['Mon 09:00-20:00', 'UTC', ['2030-02-30'], 'except: "2030-02-30" is not a date'],
    ['Mon 09:00-20:00', 'UTC', ['1 May'], 'except: "1 May" is not a date'],
  ])('%s in %s without %j is refused', (window, zone, except, reason) => {
    expect(reasonOf(window, zone, except)).toContain(reason);
  });

  test('A window that never opens is refused', () => {
    const mondays = Array.from({ length: 60 }, (_, week) =>
      new Date(NOW + week * 7 * 86_400_000).toISOString().slice(0, 10),
    );
    expect(reasonOf('Mon 09:00-20:00', 'UTC', mondays)).toContain('except: the window never opens');
  });

  test('A description names the first date that is left out', () => {
    expect(describeWindow(ruleOf('Mon 09:00-20:00', 'UTC', ['2030-05-02', '2030-05-01']))).toBe(
      'Mon 09:00-20:00 UTC, except 2030-05-01 and 1 more',
    );
  });
});

describe('The openings of a window', () => {
  test('are in local time when clocks go forward and back', () => {
    expect(opensAt(ruleOf('Sat-Sun 09:00-20:00'), '2030-03-30T00:00Z', 2)).toEqual([
      '2030-03-30T08:00:00.000Z 2030-03-30T19:00:00.000Z',
      '2030-03-31T07:00:00.000Z 2030-03-31T18:00:00.000Z',
    ]);
    expect(opensAt(ruleOf('Sat-Sun 09:00-20:00'), '2030-10-26T00:00Z', 2)).toEqual([
      '2030-10-26T07:00:00.000Z 2030-10-26T18:00:00.000Z',
      '2030-10-27T08:00:00.000Z 2030-10-27T19:00:00.000Z',
    ]);
  });

  test('begin after the hour that a zone skips, and close before the hour that it repeats ends the first time', () => {
    // 02:00 to 03:00 does not exist.
    expect(opensAt(ruleOf('02:30-05:00'), '2030-03-31T00:00Z', 1)).toEqual([
      '2030-03-31T01:00:00.000Z 2030-03-31T03:00:00.000Z',
    ]);
    // 02:30 is twice.
    expect(opensAt(ruleOf('01:00-02:30'), '2030-10-26T22:00Z', 2)).toEqual([
      '2030-10-26T23:00:00.000Z 2030-10-27T00:30:00.000Z',
      '2030-10-27T01:00:00.000Z 2030-10-27T01:30:00.000Z',
    ]);
  });

  test('go on over midnight, but not into a date that is left out', () => {
    const rule = ruleOf('Fri 22:00-06:00', 'UTC', ['2030-01-12']);
    expect(opensAt(rule, '2030-01-07T00:00Z', 2)).toEqual([
      '2030-01-11T22:00:00.000Z 2030-01-12T00:00:00.000Z',
      '2030-01-18T22:00:00.000Z 2030-01-19T06:00:00.000Z',
    ]);
  });

  test('are joined where one ends when the next begins', () => {
    const [only] = openingsFrom(ruleOf('Mon 20:00-24:00, Tue 00:00-04:00', 'UTC'), NOW, 1);
    expect(only).toEqual({ from: NOW + 20 * 3_600_000, until: NOW + 28 * 3_600_000 });
  });

  test('are exactly the moments whose local time lies in the window', () => {
    const time = fc.integer({ min: 0, max: 47 }).map((half) => half * 30);
    const zone = fc.constantFrom(
      'Europe/Paris',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kolkata',
      'UTC',
    );
    const starts = ['2030-03-09', '2030-03-30', '2030-04-06', '2030-10-05', '2030-10-26', '2030-11-02'];
    const text = (minutes: number): string =>
      `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
    fc.assert(
      fc.property(
        zone,
        fc.constantFrom(...starts),
        time,
        time,
        fc.integer({ min: 0, max: 6 }),
        (where, day, from, to, last) => {
          fc.pre(from !== to);
          const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
          const rule = ruleOf(`Fri-${days[last]} ${text(from)}-${text(to)}`, where, ['2030-03-31']);
          const start = Date.parse(`${day}T00:00Z`);
          const openings = openingsFrom(rule, start, 10);
          const end = Math.min(start + 3 * 86_400_000, openings.at(-1)?.until ?? start);
          const on = Array.from({ length: ((last - 4 + 7) % 7) + 1 }, (_, at) => (4 + at) % 7);
          for (let at = start; at < end; at += 15 * 60_000) {
            const local = localTime(where, at);
            const minute = Math.floor(local / 60_000) % 1440;
            const weekday = (Math.floor(local / 86_400_000) + 3) % 7;
            const isToday = on.includes(weekday) && minute >= from && (minute < to || to < from);
            const isYesterdays = on.includes((weekday + 6) % 7) && to < from && minute < to;
            const isLeftOut = new Date(local).toISOString().startsWith('2030-03-31');
            const isOpen = openings.some((opening) => opening.from <= at && at < opening.until);
            expect([new Date(at).toISOString(), isOpen]).toEqual([
              new Date(at).toISOString(),
              (isToday || isYesterdays) && !isLeftOut,
            ]);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  test('The next opening is the current one, or the next', () => {
    const rule = ruleOf('Mon-Fri 09:00-17:00', 'UTC');
    const nine = NOW + 9 * 3_600_000;
    const monday = { from: nine, until: nine + 8 * 3_600_000 };
    expect(nextOpening(rule, NOW)).toEqual(monday);
    expect(nextOpening(rule, nine)).toEqual(monday);
    expect(nextOpening(rule, monday.until - 1)).toEqual(monday);
    expect(nextOpening(rule, monday.until)?.from).toBe(nine + 86_400_000);
  });
});

describe('Two windows', () => {
  test('are both open only where they overlap', () => {
    const common = nextCommonOpening(
      [ruleOf('09:00-17:00', 'Europe/Paris'), ruleOf('09:00-17:00', 'America/New_York')],
      NOW,
    );
    expect(common).toEqual({ from: Date.parse('2030-01-07T14:00Z'), until: Date.parse('2030-01-07T16:00Z') });
  });

  test('that never overlap have no common opening', () => {
    expect(nextCommonOpening([ruleOf('Mon-Fri 09:00-17:00'), ruleOf('Sat-Sun 09:00-17:00')], NOW)).toBeNull();
    expect(nextCommonOpening([ruleOf('09:00-12:00'), ruleOf('12:00-17:00')], NOW)).toBeNull();
  });

  test('that overlap on a few days of the year have a common opening', () => {
    // Between the days on which clocks change in Europe and in America.
    const windows = [ruleOf('09:00-10:00', 'America/New_York'), ruleOf('14:00-14:30', 'Europe/Paris')];
    expect(nextCommonOpening(windows, NOW)).toEqual({
      from: Date.parse('2030-03-10T13:00Z'),
      until: Date.parse('2030-03-10T13:30Z'),
    });
  });
});

test('The next opening is the first of the openings, however long it is and however far away', () => {
  const [start, DAY] = [Date.parse('2030-03-01T00:00Z'), 86_400_000];
  const holidays = Array.from({ length: 30 }, (_, at) => `2030-03-${String(at + 2).padStart(2, '0')}`);
  const rules = [
    'Mon-Sat 00:00-24:00; Europe/Paris',
    'Mon-Sun 00:00-24:00; Europe/Paris; 2030-03-12 2030-03-27 2030-04-20',
    `Mon-Sun 09:00-09:01; Europe/Paris; ${holidays.join(' ')}`,
    'Mon 22:00-02:30, Sun 02:00-03:00; Europe/Paris',
  ];
  for (const rule of rules)
    for (let at = start; at < start + 40 * DAY; at += 0.7 * DAY) {
      const [first] = openingsFrom(rule, at, 1);
      const next = nextOpening(rule, at);
      expect([next?.until, Math.max(next?.from ?? 0, at)]).toEqual([
        first?.until,
        Math.max(first?.from ?? 0, at),
      ]);
    }
});
