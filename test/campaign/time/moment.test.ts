import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTime, spelledOut, timeIn } from '../../../src/campaign/time/moment.js';
import { localTime } from '../../../src/campaign/time/zone.js';

const PARIS = 'Europe/Paris';
/** A Monday, 23:30 in Paris. */
const NOW = Date.parse('2026-11-23T22:30:00Z');

test('A program gives a time in ms or as a text with an offset, and another text is refused by the name of its field', () => {
  expect([timeIn('from', NOW), timeIn('from', '2026-11-23T23:30+01:00')]).toEqual([NOW, NOW]);
  expect(() => timeIn('from', '2026-11-23')).toThrow(
    expect.objectContaining({ field: 'from', message: expect.stringContaining('with a time zone') }),
  );
});

describe('A time that is written with a word', () => {
  test.each([
    ['tomorrow 9:00', '2026-11-24T09:00'],
    ['Tomorrow at 09:00', '2026-11-24T09:00'],
    ['today 23:45', '2026-11-23T23:45'],
    ['tue 09:00', '2026-11-24T09:00'],
    ['wednesday 9:05', '2026-11-25T09:05'],
    ['sunday 09:00', '2026-11-29T09:00'],
    // It is Monday, and nine has passed.
    ['monday 09:00', '2026-11-30T09:00'],
    ['monday 23:31', '2026-11-23T23:31'],
    ['monday 23:30', '2026-11-30T23:30'],
  ])('such as %j is one of the zone', (text, spelled) => {
    expect(spelledOut(text, PARIS, NOW)).toBe(spelled);
  });

  test('depends on the day that the zone has', () => {
    expect(spelledOut('tomorrow 9:00', 'Pacific/Auckland', NOW)).toBe('2026-11-25T09:00');
    expect(spelledOut('tomorrow 9:00', 'America/New_York', NOW)).toBe('2026-11-24T09:00');
  });

  test.each(['tomorrow', 'soon 9:00', 'mo 9:00', '9:00', 'tomorrow 9', 'day 9:00', '2026-11-24T09:00', ''])(
    'is not %j',
    (text) => {
      expect(spelledOut(text, PARIS, NOW)).toBeNull();
    },
  );

  test('of a day of the week is within seven days, and never over', () => {
    const minutes = fc.integer({ min: Date.UTC(2024, 0) / 60_000, max: Date.UTC(2034, 0) / 60_000 });
    const times = fc.tuple(
      fc.constantFrom('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'),
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 0, max: 59 }),
    );
    fc.assert(
      fc.property(minutes, times, (now, [day, hour, minute]) => {
        const text = `${day} ${hour}:${String(minute).padStart(2, '0')}`;
        const local = Date.parse(`${spelledOut(text, PARIS, now * 60_000)}Z`);
        const ahead = local - localTime(PARIS, now * 60_000);
        expect(ahead).toBeGreaterThan(0);
        expect(ahead).toBeLessThanOrEqual(7 * 86_400_000);
        const name = new Date(local).toLocaleDateString('en', { weekday: 'short', timeZone: 'UTC' });
        expect(name.toLowerCase()).toBe(day);
      }),
    );
  });
});

test('A local time is one of its zone, and one with an offset needs none', () => {
  const nine = { ok: true, at: Date.parse('2026-11-24T08:00:00Z') };
  expect(readTime('2026-11-24T09:00', PARIS, 'the campaign')).toEqual(nine);
  expect(readTime('2026-11-24T08:00Z', PARIS, 'the campaign')).toEqual(nine);
  expect(readTime('2026-11-24T09:00', undefined, 'the campaign')).toMatchObject({
    ok: false,
    reason: expect.stringContaining('and the campaign has no zone; write an offset'),
  });
});
