import { describe, expect, test } from 'vitest';
import { perName, RECIPIENT_STATES } from '../../../src/campaign/states/recipient.js';
import type { Ledger } from '../../../src/campaign/views/live-views.js';
import { withFilters } from '../../../src/surfaces/console/base/filters.js';
import { masked, maskedAsWritten } from '../../../src/surfaces/console/base/masked.js';
import { barParts, type Counts, ratesOf } from '../../../src/surfaces/console/base/recipients.js';
import { durationMs, freedAt, stripOf } from '../../../src/surfaces/console/base/strip.js';
import { percentText, spanText, timeText } from '../../../src/surfaces/console/base/times.js';

const countsOf = (some: Partial<Counts>): Counts => ({
  total: 0,
  ...perName(RECIPIENT_STATES, () => 0),
  ...some,
});

describe('A masked number', () => {
  test.each([
    ['+447700900123', '+4477•••••123'],
    ['+4795550131', '+4795•••131'],
    ['+393351234567890', '+3933••••••••890'],
    ['0770', '••••'],
    ['not a number', 'not a number'],
  ])('%s is shown as %s', (number, shown) => {
    expect(masked(number)).toBe(shown);
  });

  test.each([
    ['07700 900101', '0770• •••101'],
    ['+44 7700 900101', '+44 77•• •••101'],
    ['0770 12', '0770 12'],
  ])('that someone has written as %s keeps its form: %s', (written, shown) => {
    expect(maskedAsWritten(written)).toBe(shown);
  });

  test('has as many digits as the number, so that its length can be checked', () => {
    expect(masked('+447700900123').replace(/[^\d•]/g, '')).toHaveLength(12);
  });
});

describe('Filters in an address', () => {
  test('replace those of the same name, and an empty one leaves', () => {
    expect(withFilters('/console/campaigns?state=running&lane=main', { state: 'paused' })).toBe(
      '/console/campaigns?state=paused&lane=main',
    );
    expect(withFilters('/console/campaigns?state=running', { state: '' })).toBe('/console/campaigns');
  });

  test('begin at the first page, and a page keeps them', () => {
    expect(withFilters('/x?state=running&cursor=200', { lane: 'main' })).toBe('/x?state=running&lane=main');
    expect(withFilters('/x?state=running', { cursor: '200' })).toBe('/x?state=running&cursor=200');
  });

  test('keep characters that have a meaning in addresses', () => {
    expect(withFilters('/x', { name: '50% & more?' })).toBe('/x?name=50%25+%26+more%3F');
  });
});

const NOW = Date.parse('2030-05-01T12:00:00Z');
const iso = (ms: number): string => new Date(ms).toISOString();
const MINUTE = 60_000;

/** A ledger with a window of an hour in 384 buckets. */
function ledgerOf(sends: (minutesAgo: number) => number): Ledger {
  const width = 9_375;
  const first = Math.floor((NOW - 60 * MINUTE) / width);
  const buckets = Array.from({ length: 384 }, (_, at) => {
    const begin = (first + at) * width;
    return { at: iso(begin), sends: sends((NOW - begin) / MINUTE), polls: at % 3 };
  }).filter((bucket) => bucket.sends + bucket.polls > 0);
  const sum = (kind: 'sends' | 'polls') => buckets.reduce((all, bucket) => all + bucket[kind], 0);
  return {
    lane: 'main',
    at: iso(NOW),
    span: '1h',
    width: '9375ms',
    guard: '9375ms',
    buckets,
    used: { send: sum('sends'), poll: sum('polls') },
    limit: 5_000,
    inFlight: 0,
    pollReserve: 1_000,
    permits: buckets.map(({ at, sends: s, polls }) => ({
      at: iso(Date.parse(at) + width + 60 * MINUTE),
      count: s + polls,
    })),
    throttledAt: [iso(NOW - 10 * MINUTE)],
  };
}

describe('The strip of a lane', () => {
  test.each([24, 97, 384, 1_000])('has the sum of the ledger in %i columns', (columns) => {
    const ledger = ledgerOf((minutes) => Math.round(minutes) % 7);
    const { past, coming } = stripOf(ledger, columns);
    const sum = past.reduce((all, { sends, polls }) => all + sends + polls, 0);
    expect(sum).toBe(ledger.used.send + ledger.used.poll);
    expect(coming.reduce((all, { count }) => all + count, 0)).toBe(sum);
    expect(past.length).toBeLessThanOrEqual(Math.min(columns, 384) + 1);
  });

  test('counts up to what is used now, and down to nothing when all permits have returned', () => {
    const ledger = ledgerOf(() => 3);
    const { counted } = stripOf(ledger, 96);
    const used = ledger.used.send + ledger.used.poll;
    expect(Math.max(...counted.map(({ count }) => count))).toBe(used);
    expect(counted.at(-1)?.count).toBe(0);
  });

  test('marks the bucket that frees the next permit, a window before', () => {
    const strip = stripOf(
      ledgerOf((minutes) => (minutes < 20 ? 5 : 0)),
      384,
    );
    const freed = freedAt(strip, NOW + 41 * MINUTE);
    expect(freed?.permits.at).toBeGreaterThanOrEqual(NOW + 41 * MINUTE - strip.width);
    expect((freed?.permits.at ?? 0) - (freed?.from?.at ?? 0)).toBeGreaterThanOrEqual(strip.window);
    expect((freed?.permits.at ?? 0) - (freed?.from?.at ?? 0)).toBeLessThan(strip.window + 3 * strip.width);
    expect(freedAt(strip, NOW + 120 * MINUTE)).toBeNull();
  });

  test.each([
    ['1h', 3_600_000],
    ['9375ms', 9_375],
    ['1h30m', 5_400_000],
    ['1.5s', 1_500],
    ['2d', 172_800_000],
  ])('reads the duration %s', (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });
});

describe('The bar of a campaign', () => {
  test('has every recipient in one part, and parts that fill it', () => {
    const counts = countsOf({
      total: 10,
      planned: 2,
      unknown: 1,
      deliveredToTerminal: 4,
      rejected: 1,
      abandoned: 2,
    });
    const parts = barParts(counts);
    expect(parts.map(({ kind }) => kind)).toEqual(['delivered', 'failed', 'left', 'unknown', 'planned']);
    expect(parts.reduce((sum, { count }) => sum + count, 0)).toBe(10);
    const last = parts.at(-1);
    expect((last?.from ?? 0) + (last?.share ?? 0)).toBeCloseTo(1);
  });

  test('is full only when the last recipient is settled', () => {
    expect(percentText(9_999, 10_000)).toBe('99 %');
    expect(percentText(10_000, 10_000)).toBe('100 %');
    expect(percentText(0, 0)).toBe('0 %');
  });
});

describe('Sends per minute', () => {
  const sample = (minutes: number, planned: number, cancelled = 0) => ({
    at: iso(NOW + minutes * MINUTE),
    counts: countsOf({ total: 1_000, planned, cancelled }),
  });

  test('are the sends between two samples', () => {
    expect(ratesOf([sample(0, 1_000), sample(2, 800), sample(3, 800)]).map(({ value }) => value)).toEqual([
      100, 0,
    ]);
  });

  test('have no recipients that were cancelled, and none below zero after a release', () => {
    expect(ratesOf([sample(0, 500), sample(1, 0, 500)]).map(({ value }) => value)).toEqual([0]);
    expect(ratesOf([sample(0, 500), sample(1, 520)]).map(({ value }) => value)).toEqual([0]);
  });

  test('of one sample are none', () => {
    expect(ratesOf([sample(0, 5)])).toEqual([]);
  });
});

describe('A time', () => {
  const at = (text: string): number => Date.parse(text);

  test.each([
    // The nights in which clocks change, in both directions.
    ['2030-03-31T00:59:00Z', 'Europe/Oslo', '01:59 CET'],
    ['2030-03-31T01:01:00Z', 'Europe/Oslo', '03:01 CEST'],
    ['2030-10-27T00:30:00Z', 'Europe/Oslo', '02:30 CEST'],
    ['2030-10-27T01:30:00Z', 'Europe/Oslo', '02:30 CET'],
    ['2030-05-01T07:00:00Z', 'Asia/Kolkata', '12:30 Kolkata time'],
    ['2030-03-10T10:30:00Z', 'America/Los_Angeles', '03:30 Los Angeles time'],
  ])('%s in %s is %s', (time, zone, shown) => {
    expect(timeText(at(time), at(time), zone)).toBe(shown);
  });

  test('has its date on another day of its zone, and its year in another year', () => {
    expect(timeText(at('2030-05-01T20:00:00Z'), at('2030-05-01T10:00:00Z'), 'Asia/Kolkata')).toBe(
      '2 May 01:30 Kolkata time',
    );
    expect(timeText(at('2031-05-01T20:00:00Z'), at('2030-05-01T10:00:00Z'), 'UTC')).toMatch(
      /^1 May 2031,? 20:00/,
    );
  });

  test.each([
    [42_000, '42 s'],
    [722_000, '12 min 2 s'],
    [6_600_000, '1 h 50 min'],
    [3_600_000, '1 h'],
    [90_000_000, '1 d 1 h'],
    [-5, '0 s'],
  ])('%i ms left are %s', (ms, shown) => {
    expect(spanText(ms)).toBe(shown);
  });
});
