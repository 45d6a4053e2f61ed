import { describe, expect, test } from 'vitest';
import { between, machineZone, minute, moment, shortMoment, until } from '../../src/base/moments.js';

const PARIS = 'Europe/Paris';
/** 23:30 in Paris, and still the day before in New York. */
const NOW = Date.parse('2026-11-23T22:30:00Z');
const HOUR_MS = 3_600_000;

describe('A time for people', () => {
  test('of today has only the time of day, and the name of its zone', () => {
    expect(moment(NOW + 90_000, NOW, PARIS)).toBe('23:31:30 CET');
    expect(minute(NOW + 90_000, NOW, PARIS)).toBe('23:31 CET');
    expect(shortMoment(NOW + 90_000, NOW, PARIS)).toBe('23:31 CET');
  });

  test('of another day has the day, as its zone counts days', () => {
    expect(moment(NOW + HOUR_MS, NOW, PARIS)).toBe('Tue 24 Nov 00:30 CET');
    expect(shortMoment(NOW + HOUR_MS, NOW, PARIS)).toBe('24 Nov');
    expect(moment(NOW + HOUR_MS, NOW, 'America/New_York')).toBe('18:30:00 GMT-5');
  });

  test('of another year has the year', () => {
    expect(moment(Date.parse('2027-09-05T09:30Z'), NOW, PARIS)).toBe('Sun 5 Sep 2027 11:30 CEST');
  });

  test('without a zone is one of this machine', () => {
    expect(moment(NOW, NOW)).toBe(moment(NOW, NOW, machineZone()));
  });

  test('in the future shows how far away it is, and one that has passed is now', () => {
    expect(until('2026-11-24T08:00:00Z', NOW, PARIS)).toBe('Tue 24 Nov 09:00 CET (in 9h 30m)');
    expect(until('2026-11-23T22:30:00Z', NOW, PARIS)).toBe('now');
  });

  test('that is not certain names the zone once, unless the clocks change in between', () => {
    const range = (earliest: string, latest: string, isApproximate = false) => ({
      ...{ earliest, latest, isApproximate, reason: null },
    });
    expect(between(range('2026-11-23T22:30:09Z', '2026-11-23T22:30:13Z'), NOW, PARIS)).toBe(
      'between 23:30:09 and 23:30:13 CET (in 9 to 13 s)',
    );
    const before = Date.parse('2026-10-25T00:00:00Z');
    expect(between(range('2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'), before, PARIS)).toBe(
      'between 02:30:00 CEST and 02:30:00 CET (in 30m to 1h 30m)',
    );
    expect(between(range('2026-11-23T22:30:09Z', '2026-11-23T22:30:13Z', true), NOW, PARIS)).toBe(
      'about 23:30:09 to 23:30:13 CET (in 9 to 13 s)',
    );
  });
});
